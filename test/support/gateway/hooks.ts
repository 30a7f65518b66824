import type { Authenticate, Authorize } from '../../../src/net/gateway/rights/hooks.ts'
import { allow } from '../../../src/net/gateway/rights/hooks.ts'
import type { Meta } from '../../../src/tracker/types.ts'

/** The user is the param `user`, the session the param `session`. Without a user: turned away. */
export const byParams: Authenticate = ({ params: { user, session } }) =>
  user === undefined ? null : { user, ...(session !== undefined && { session }) }

/** Everybody may do everything. What is shown is the payload, without what it says to the gateway. */
export const openHouse: Authorize = ({ payload }) => {
  const { presence: _, ...meta } = payload
  return allow({ meta: meta as Meta })
}
