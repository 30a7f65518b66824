import type { Presence } from 'phoenix'

/** What was told of metas. */
export interface Ledger {
  readonly faults: readonly string[]
  readonly here: ReadonlySet<string>
}

/** What is told of each meta: it comes once, and goes once, after it has come. */
export function ledger(presence: Presence): Ledger {
  const faults: string[] = []
  const here = new Set<string>()
  presence.onJoin((_, __, { metas }) => {
    for (const { phx_ref } of metas) {
      faults.push(...(here.has(phx_ref) ? [`${phx_ref} came twice`] : []))
      here.add(phx_ref)
    }
  })
  presence.onLeave((_, __, { metas }) => {
    for (const { phx_ref } of metas) {
      faults.push(...(here.delete(phx_ref) ? [] : [`${phx_ref} left, and had not come`]))
    }
  })
  return { faults, here }
}
