/** A hook of the app did not answer in time. */
export class HookTimeoutError extends Error {
  override readonly name = 'HookTimeoutError'
  readonly code = 'ERR_HOOK_TIMEOUT'

  constructor(hook: string, timeoutMs: number) {
    super(`${hook} has not answered within ${timeoutMs} ms (hookTimeoutMs)`)
  }
}

/** Calls a hook, sync or async, and waits for it no longer than `timeoutMs`. Rejects with what the hook throws, or HookTimeoutError. */
export async function callHook<T>(name: string, timeoutMs: number, call: () => T | Promise<T>): Promise<T> {
  const answer = call()
  if (!isPromise(answer)) {
    return answer
  }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HookTimeoutError(name, timeoutMs)), timeoutMs)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

const isPromise = <T>(value: T | Promise<T>): value is Promise<T> => typeof (value as Promise<T> | undefined)?.then === 'function'
