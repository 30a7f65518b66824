import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { callHook } from '../../../src/net/gateway/rights/hook-call.ts'

const never = (): Promise<never> => new Promise(() => {})

class Thenable {
  // biome-ignore lint/suspicious/noThenProperty: what hooks of other libraries return
  then(resolve: (value: number) => void): void {
    resolve(6)
  }
}

describe('calling a hook', () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)

  beforeEach(() => {
    unhandled.length = 0
    process.on('unhandledRejection', note)
  })
  afterEach(() => {
    vi.useRealTimers()
    process.off('unhandledRejection', note)
  })

  it('what it returns or resolves with is given back; a thenable of another library is waited for', async () => {
    expect(await callHook('hook', 10, () => 5)).toBe(5)
    expect(await callHook('hook', 10, () => undefined)).toBeUndefined()
    expect(await callHook('hook', 10, () => null)).toBeNull()
    expect(await callHook('hook', 10, () => Promise.resolve(5))).toBe(5)
    expect(await callHook('hook', 10, () => new Thenable() as unknown as Promise<number>)).toBe(6)
  })

  it('what it throws or rejects with is passed on, whatever it is', async () => {
    for (const error of [new Error('no'), 'no', 0, null, undefined]) {
      const caught = (cause: unknown): unknown[] => [cause]
      const thrown = callHook('hook', 10, () => {
        throw error
      })
      expect(await thrown.then(() => 'none', caught)).toEqual([error])
      expect(await callHook('hook', 10, () => Promise.reject(error)).then(() => 'none', caught)).toEqual([error])
    }
  })

  it('one that hangs rejects in time, with an error that names the hook and the option', async () => {
    vi.useFakeTimers()
    const answer = callHook('authorize', 200, never)
    const failed = expect(answer).rejects.toMatchObject({
      name: 'HookTimeoutError',
      code: 'ERR_HOOK_TIMEOUT',
      message: /authorize.*200 ms.*hookTimeoutMs/
    })
    await vi.advanceTimersByTimeAsync(200)
    await failed
  })

  it('no timer is left after an answer, and a rejection that comes after the time is no unhandled one', async () => {
    vi.useFakeTimers()
    await callHook('hook', 1_000, async () => 1)
    await callHook('hook', 1_000, () => Promise.reject(new Error('no'))).catch(() => undefined)
    expect(vi.getTimerCount()).toBe(0)
    const late = Promise.withResolvers<never>()
    const answer = callHook('hook', 10, () => late.promise).catch(() => undefined)
    await vi.advanceTimersByTimeAsync(10)
    await answer
    late.reject(new Error('late'))
    vi.useRealTimers()
    await new Promise(resolve => setImmediate(resolve))
    expect(unhandled).toEqual([])
  })
})
