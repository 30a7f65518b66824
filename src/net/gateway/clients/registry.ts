import type { Client } from './client.ts'

/** All clients, and those of each user. */
export class Registry {
  readonly #all = new Set<Client>()
  readonly #byUser = new Map<string, Set<Client>>()

  get size(): number {
    return this.#all.size
  }

  [Symbol.iterator](): IterableIterator<Client> {
    return this.#all.values()
  }

  of(user: string): ReadonlySet<Client> {
    return this.#byUser.get(user) ?? NOBODY
  }

  add(client: Client, user: string): void {
    this.#all.add(client)
    const clients = this.#byUser.get(user)
    if (clients === undefined) {
      this.#byUser.set(user, new Set([client]))
    } else {
      clients.add(client)
    }
  }

  delete(client: Client, user: string): void {
    this.#all.delete(client)
    const clients = this.#byUser.get(user)
    if (clients?.delete(client) && clients.size === 0) {
      this.#byUser.delete(user)
    }
  }
}

const NOBODY: ReadonlySet<Client> = new Set()
