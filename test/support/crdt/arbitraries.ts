import fc from 'fast-check'
import { content, ref } from './builders.ts'
import { OwnerModel } from './owner-model.ts'

/** An owner's events, one or more: adds, updates and marks of dots that are held then. */
export function owners(maxEvents = 24): fc.Arbitrary<OwnerModel> {
  const kind = fc.constantFrom('add', 'add', 'add', 'update', 'linger', 'close', 'remove', 'remove')
  return fc.array(fc.tuple(kind, fc.nat(255)), { minLength: 1, maxLength: maxEvents, size: 'max' }).map(ops => {
    const model = new OwnerModel(ref('O'))
    model.add(content(0))
    for (const [op, pick] of ops) {
      const held = model.held(model.head, model.head)
      const dot = held[pick % Math.max(1, held.length)]?.counter ?? 0
      if (op === 'update') {
        model.update(dot, content(model.head), pick)
      } else if (op !== 'add') {
        model.mark(dot, ({ linger: 1, close: 2, remove: 3 } as const)[op], pick)
      } else {
        model.add(content(model.head))
      }
    }
    return model
  })
}

/** A number from `min` to `max`, taken from any natural number. */
export function within(number: number, min: number, max: number): number {
  return min + (number % (max - min + 1))
}
