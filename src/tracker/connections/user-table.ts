import { partOfString, SplitMap } from './split-map.ts'

/** A dense number that stands for a user while he has connections. */
export type UserIndex = number

/**
 * Users as small integers, with the number of their connections. An index is a user's from his first connection to
 * his last; then his name is let go, and the index is given to the next new user.
 *
 * ```ts
 * const user = users.acquire('user:42')
 * if (users.count(user) === 1) // 0 → 1: he has come
 * if (users.release(user) === 0) // 1 → 0: he has gone, and `user` means nothing any more
 * ```
 */
export class UserTable {
  readonly #indices = new SplitMap<string, UserIndex>(partOfString)
  readonly #names: (string | undefined)[] = []
  readonly #free: UserIndex[] = []
  #counts = new Uint32Array(1_024)

  /** Users with at least one connection. */
  get size(): number {
    return this.#names.length - this.#free.length
  }

  /** One more connection of `user`. O(1); its name is looked up once, so keep the index. */
  acquire(user: string): UserIndex {
    const index = this.#indices.get(user) ?? this.#add(user)
    this.#counts[index] = this.#counts[index]! + 1
    return index
  }

  /**
   * One connection less. Returns how many are left; at 0 the index is free again.
   *
   * @throws RangeError when the index is nobody's: it was released once too often.
   */
  release(index: UserIndex): number {
    const name = this.name(index)
    const left = this.#counts[index]! - 1
    this.#counts[index] = left
    if (left === 0) {
      this.#indices.delete(name)
      this.#names[index] = undefined
      this.#free.push(index)
    }
    return left
  }

  /** @throws RangeError when the index is nobody's. */
  name(index: UserIndex): string {
    const name = this.#names[index]
    if (name === undefined) {
      throw new RangeError(`user index ${index} is nobody's, allowed is one that was acquired and not released`)
    }
    return name
  }

  /** Connections of the user; 0 when the index is nobody's. */
  count(index: UserIndex): number {
    return this.#counts[index] ?? 0
  }

  /** The index of a user who has connections, else undefined. */
  find(user: string): UserIndex | undefined {
    return this.#indices.get(user)
  }

  #add(user: string): UserIndex {
    const index = this.#free.pop() ?? this.#names.length
    if (index === this.#counts.length) {
      const counts = this.#counts
      this.#counts = new Uint32Array(2 * counts.length)
      this.#counts.set(counts)
    }
    this.#names[index] = user
    this.#indices.set(user, index)
    return index
  }
}
