import { content } from './builders.ts'
import type { MapLike } from './map-like.ts'
import { OwnerModel } from './owner-model.ts'

/** One event of an owner, by dot. */
export type OwnerOp =
  | { readonly kind: 'add' }
  | { readonly kind: 'update'; readonly counter: number }
  | { readonly kind: 'mark'; readonly counter: number; readonly state: 1 | 2 | 3 }

export interface Alphabet {
  readonly updates: boolean
  /** To which states an owner moves dots on. */
  readonly states: readonly (1 | 2 | 3)[]
}

/** All histories of exactly `events` events; the shorter ones are their beginnings. */
export function* ownerHistories(events: number, alphabet: Alphabet, ops: readonly OwnerOp[] = []): Generator<readonly OwnerOp[]> {
  if (ops.length === events) {
    yield ops
    return
  }
  for (const op of nextOps(modelOf(ops), alphabet)) {
    yield* ownerHistories(events, alphabet, [...ops, op])
  }
}

export function modelOf(ops: readonly OwnerOp[], id = 'O'): OwnerModel {
  const model = new OwnerModel({ id, incarnation: 1 })
  for (const op of ops) {
    applyToModel(model, op)
  }
  return model
}

/** The reason of every mark is its event. */
export function applyOp(map: MapLike, op: OwnerOp, event: number): void {
  if (op.kind === 'add') {
    map.add(content(event))
  } else if (op.kind === 'update') {
    map.update(op.counter, content(event), event)
  } else {
    map.mark(op.counter, op.state, event)
  }
}

export function showOps(ops: readonly OwnerOp[]): string {
  return ops
    .map((op, index) => `${index + 1}:${op.kind}${op.kind === 'add' ? '' : ` ${op.counter}`}${op.kind === 'mark' ? ` ${op.state}` : ''}`)
    .join(' ')
}

function applyToModel(model: OwnerModel, op: OwnerOp): void {
  const event = model.head + 1
  if (op.kind === 'add') {
    model.add(content(event))
  } else if (op.kind === 'update') {
    model.update(op.counter, content(event), event)
  } else {
    model.mark(op.counter, op.state, event)
  }
}

function nextOps(model: OwnerModel, { updates, states }: Alphabet): OwnerOp[] {
  const held = model.held(model.head, model.head)
  return [
    { kind: 'add' },
    ...held.filter(() => updates).map(({ counter }) => ({ kind: 'update', counter }) as const),
    ...held.flatMap(({ counter, state }) =>
      states.filter(next => next > state).map(next => ({ kind: 'mark', counter, state: next }) as const)
    )
  ]
}
