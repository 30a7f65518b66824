import type { ResolvedGatewayOptions } from '../options.ts'

/** How many sockets there are: in all, and by address. A socket counts from its request on, so that slow hooks let nobody slip through. */
export class Census {
  readonly #limits: ResolvedGatewayOptions['limits']
  readonly #byAddress = new Map<string, number>()
  #size = 0

  constructor(limits: ResolvedGatewayOptions['limits']) {
    this.#limits = limits
  }

  get size(): number {
    return this.#size
  }

  /** Undefined when it came in; else the limit that is reached. */
  enter(address: string): 'sockets' | 'socketsPerAddress' | undefined {
    if (this.#size >= this.#limits.sockets) {
      return 'sockets'
    }
    if ((this.#byAddress.get(address) ?? 0) >= this.#limits.socketsPerAddress) {
      return 'socketsPerAddress'
    }
    this.#size++
    count(this.#byAddress, address, 1)
    return undefined
  }

  leave(address: string): void {
    this.#size--
    count(this.#byAddress, address, -1)
  }
}

function count(counts: Map<string, number>, name: string, by: number): void {
  const left = (counts.get(name) ?? 0) + by
  if (left === 0) {
    counts.delete(name)
  } else {
    counts.set(name, left)
  }
}
