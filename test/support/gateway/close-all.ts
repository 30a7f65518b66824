type Close = () => void | Promise<void>

const open = new Set<Close>()

/** Has `close` called by `closeAll`. Returns a function that does so now, and no second time. */
export function closeLater(close: Close): () => Promise<void> {
  let done: Promise<void> | undefined
  const once = (): Promise<void> => {
    open.delete(once)
    done ??= Promise.resolve(close())
    return done
  }
  open.add(once)
  return once
}

/** For `afterEach`: closes clients, load balancers, gateways and replicas that a test opened, the newest first. */
export async function closeAll(): Promise<void> {
  for (const close of [...open].reverse()) {
    await close()
  }
}
