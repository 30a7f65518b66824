/**
 * Resolves when every microtask that waits now, and every one that those queue, has run: promises and async iterators of the simulated
 * processes get as far as they can between two events, as between two turns of a real event loop.
 */
export const macrotask: () => Promise<void> =
  typeof setImmediate === 'function' ? createImmediateMacrotask(setImmediate) : createChannelMacrotask()

/** `immediate` is kept from the start: fake timers of a test must not stop the simulation. */
function createImmediateMacrotask(immediate: (task: () => void) => unknown): () => Promise<void> {
  return () =>
    new Promise(resolve => {
      immediate(resolve)
    })
}

function createChannelMacrotask(): () => Promise<void> {
  const { port1, port2 } = new MessageChannel()
  const waiting: (() => void)[] = []
  port1.onmessage = () => waiting.shift()?.()
  return () =>
    new Promise(resolve => {
      waiting.push(resolve)
      port2.postMessage(null)
    })
}
