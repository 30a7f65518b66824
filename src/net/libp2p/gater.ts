import type { ConnectionGater, PeerId } from '@libp2p/interface'
import { createSystemEnvironment, type Environment } from '../../tracker/environment.ts'
import { Admission, type AdmissionInit } from './admission.ts'
import { CONNECT_TIMINGS } from './timings.ts'

/**
 * A gater for `createLibp2p`, by the same rule as the service: strangers are turned away as soon as their id is proven, before they can
 * open a stream of any protocol. For a node that serves only presence; the service refuses their streams in any case.
 *
 * @example
 * const allow = ['12D3KooW…', '12D3KooX…']
 * createLibp2p({ connectionGater: admissionGater({ allow }), services: { identify: identify(), presence: rollcall({ allow }) } })
 */
export function admissionGater(init: AdmissionInit, environment: Environment = createSystemEnvironment()): ConnectionGater {
  const admission = new Admission(init, true, environment, CONNECT_TIMINGS.admitTimeoutMs)
  const denies = async (peer: PeerId): Promise<boolean> => !(await admission.ask(peer.toString()))
  return {
    denyDialPeer: denies,
    denyInboundEncryptedConnection: denies,
    denyOutboundEncryptedConnection: denies
  }
}
