type Close = () => void | Promise<void>

/** Clients are closed first, all at one time; then servers, the newest first. */
export type Role = 'client' | 'server'

const open: Record<Role, Set<Close>> = { client: new Set(), server: new Set() }

/** Has `close` called by `closeAll`. Returns a function that does so now, and no second time. */
export function closeLater(close: Close, role: Role = 'server'): () => Promise<void> {
  let done: Promise<void> | undefined
  const once = (): Promise<void> => {
    open[role].delete(once)
    done ??= Promise.resolve(close())
    return done
  }
  open[role].add(once)
  return once
}

/** For `afterEach`: closes the clients, load balancers, gateways and replicas that a test opened. */
export async function closeAll(): Promise<void> {
  await Promise.all([...open.client].map(close => close()))
  for (const close of [...open.server].reverse()) {
    await close()
  }
}
