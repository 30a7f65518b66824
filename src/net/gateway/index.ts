/**
 * End users' sockets: Phoenix Channels for the client libraries that exist, on an HTTP server of yours. docs/gateway.md.
 *
 * @packageDocumentation
 */

export { attachGateway } from './gateway.ts'
export { GATEWAY_METRICS } from './metrics.ts'
export type { GatewayLimits, GatewayOptions, IntervalOptions } from './options.ts'
export { GATEWAY_DEFAULTS } from './options.ts'
export type {
  Allowed,
  Authenticate,
  Authorize,
  Denied,
  GatewayAction,
  GatewayAnswer,
  GatewayQuestion,
  GatewayRequest,
  Identity
} from './rights/hooks.ts'
export { allow, deny } from './rights/hooks.ts'
export * from './rights/jwt.ts'
export type { CloseReason, Refusal } from './tally.ts'
export type { Delivery, Gateway, GatewayStats, Message } from './types.ts'
