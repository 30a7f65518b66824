import type { Meta, Presence } from '../../../tracker/types.ts'
import type { ListedDiff } from '../feeds/sample.ts'

/** The JSON of each presence, made once: it is in many diffs and snapshots. */
const known = new WeakMap<Presence, string>()

function metaText(presence: Presence): string {
  let text = known.get(presence)
  if (text === undefined) {
    text = withField(JSON.stringify(withoutOwnFields(presence.meta)), 'phx_ref', presence.ref)
    known.set(presence, text)
  }
  return text
}

/** A client that names the fields of the protocol in its meta must not pass for another presence, or for an update of one. */
function withoutOwnFields(meta: Meta): Meta {
  if (!Object.hasOwn(meta, 'phx_ref') && !Object.hasOwn(meta, 'phx_ref_prev')) {
    return meta
  }
  const { phx_ref: _ref, phx_ref_prev: _prev, ...rest } = meta
  return rest
}

function withField(object: string, name: string, value: string): string {
  const comma = object === '{}' ? '' : ','
  return `${object.slice(0, -1)}${comma}"${name}":${JSON.stringify(value)}}`
}

/** What is listed, as `presence_state` has it. */
export function stateText(keys: Iterable<readonly [string, readonly Presence[]]>): string {
  return groupsText(keys, metaText)
}

function groupsText<T>(groups: Iterable<readonly [string, readonly T[]]>, textOf: (item: T) => string): string {
  const parts: string[] = []
  for (const [key, items] of groups) {
    parts.push(`${JSON.stringify(key)}:{"metas":[${items.map(textOf).join(',')}]}`)
  }
  return `{${parts.join(',')}}`
}

/** Undefined when a client has nothing to be told: presences that moved to another replica, replicas that are doubted. */
export function diffText({ joins, leaves, updates }: ListedDiff): string | undefined {
  const came = new Groups()
  const went = new Groups()
  for (const presence of joins) {
    came.add(presence.key, metaText(presence))
  }
  for (const { presence } of leaves) {
    went.add(presence.key, metaText(presence))
  }
  for (const { prev, next } of updates) {
    if (prev.ref !== next.ref) {
      came.add(next.key, withField(metaText(next), 'phx_ref_prev', prev.ref))
      went.add(prev.key, metaText(prev))
    }
  }
  return came.size + went.size === 0 ? undefined : `{"joins":${came.text()},"leaves":${went.text()}}`
}

/** Metas by key, in the order in which they come. */
class Groups {
  readonly #metas = new Map<string, string[]>()

  get size(): number {
    return this.#metas.size
  }

  add(key: string, meta: string): void {
    const metas = this.#metas.get(key)
    if (metas === undefined) {
      this.#metas.set(key, [meta])
    } else {
      metas.push(meta)
    }
  }

  text(): string {
    return groupsText(this.#metas, meta => meta)
  }
}
