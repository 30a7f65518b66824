import type { Connection } from '@libp2p/interface'
import { isLoopback } from './addresses.ts'
import type { Admission } from './admission.ts'
import type { RollcallComponents } from './components.ts'
import { AdmissionRequiredError } from './errors.ts'
import type { Links } from './links.ts'

/** Links are refused when there are so many times `maxLinks`. */
const LINKS_HARD_FACTOR = 4

/** Decides about connections: by the admission rule, by where they come from when there is none, and by how many links there are. */
export class Doorkeeper {
  readonly #admission: Admission
  readonly #links: Links
  readonly #linksMax: number
  /** Closed, it lets nobody in. */
  open = false

  constructor(admission: Admission, links: Links, maxLinks: number) {
    this.#admission = admission
    this.#links = links
    this.#linksMax = LINKS_HARD_FACTOR * maxLinks
  }

  /** @throws AdmissionRequiredError when the node listens beyond loopback and nothing says who may join. */
  checkListening({ addressManager }: RollcallComponents): void {
    const exposed = addressManager.getListenAddrs().find(address => !this.#admission.closed && !isLoopback(address))
    if (exposed !== undefined) {
      throw new AdmissionRequiredError(exposed.toString())
    }
  }

  async admits(connection: Connection): Promise<boolean> {
    const peer = connection.remotePeer.toString()
    const hasRoom = this.#links.get(peer) !== undefined || this.#links.size < this.#linksMax
    if (!this.open || !hasRoom || this.#links.isShunned(peer)) {
      return false
    }
    return (this.#admission.closed || isLoopback(connection.remoteAddr)) && (await this.#admission.ask(peer))
  }
}
