import { isUtf8 } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Authenticate, type Authorize, allow } from '../../net/gateway/rights/hooks.ts'
import { authenticateJwt, authorizeByClaims, type JwtOptions } from '../../net/gateway/rights/jwt.ts'
import type { Meta } from '../../tracker/types.ts'
import { codeOf, messageOf, UsageError } from '../errors.ts'
import { type HostPort, isLoopback, isLoopbackName } from '../host-port.ts'
import type { SERVE } from '../setting-tables.ts'
import { flagName, type Settings } from '../settings.ts'

/** Who may come in, and what he may do. */
export interface GatewayAuth {
  readonly authenticate: Authenticate
  readonly authorize: Authorize
}

type AuthSettings = Pick<Settings<typeof SERVE>, 'gatewayAuth' | 'jwtSecretFile' | 'jwtPublicKey' | 'jwtIssuer' | 'jwtAudience'>

const JWT_SETTINGS = ['jwtSecretFile', 'jwtPublicKey', 'jwtIssuer', 'jwtAudience'] as const

/** @throws UsageError when the settings contradict each other, a key cannot be read or is not fit, or `open` would be open to other machines. */
export function gatewayAuth(settings: AuthSettings, listen: HostPort): GatewayAuth {
  if (settings.gatewayAuth === 'jwt') {
    return jwtAuth(settings)
  }
  const idle = JWT_SETTINGS.find(name => settings[name] !== undefined)
  if (idle !== undefined) {
    throw new UsageError(`${flagName(idle)} is given, allowed with --gateway-auth jwt; it is ${settings.gatewayAuth}`)
  }
  if (!isLoopback(listen)) {
    throw new UsageError(
      `--gateway names the host ${listen.host}, where other machines reach it, allowed with --gateway-auth open is the loopback only; give --gateway-auth jwt`
    )
  }
  return openAuth
}

/** Everybody on this machine is who he says, and may do everything: to try things out. */
export const openAuth: GatewayAuth = {
  // A web page of elsewhere can have its name point to the loopback (DNS rebinding); the Host header tells.
  authenticate: ({ params, headers }) => (isLoopbackName(String(headers.host)) ? { user: params.user || guestName(params.session) } : null),
  authorize: ({ action, payload, wantedKey }) =>
    action === 'watch' ? true : allow({ meta: clientMeta(payload), ...(wantedKey !== undefined && { key: wantedKey }) })
}

// A session that comes back must be the same user: it counts within its user only.
function guestName(session: string | undefined): string {
  const name = session ? createHash('sha256').update(session).digest('hex').slice(0, 8) : randomBytes(4).toString('hex')
  return `guest-${name}`
}

function jwtAuth({ jwtSecretFile, jwtPublicKey, jwtIssuer, jwtAudience }: AuthSettings): GatewayAuth {
  if ((jwtSecretFile === undefined) === (jwtPublicKey === undefined)) {
    const given = jwtSecretFile === undefined ? 'neither is given' : 'both are given'
    throw new UsageError(`--gateway-auth jwt needs one of --jwt-secret-file and --jwt-public-key; ${given}`)
  }
  const options: JwtOptions = {
    ...(jwtSecretFile !== undefined && { secret: withoutNewline(readKeyFile('--jwt-secret-file', jwtSecretFile)) }),
    ...(jwtPublicKey !== undefined && { publicKey: readKeyFile('--jwt-public-key', jwtPublicKey).toString() }),
    ...(jwtIssuer !== undefined && { issuer: jwtIssuer }),
    ...(jwtAudience !== undefined && { audience: jwtAudience })
  }
  try {
    return { authenticate: authenticateJwt(options), authorize: authorizeByClaims({ clientMeta }) }
  } catch (error) {
    const where = jwtSecretFile === undefined ? `--jwt-public-key ${jwtPublicKey}` : `--jwt-secret-file ${jwtSecretFile}`
    throw new UsageError(`${where}: ${messageOf(error)}`)
  }
}

// Editors end a text with a newline that is no part of the secret; a secret of random bytes is no text.
function withoutNewline(secret: Buffer): string | Buffer {
  return isUtf8(secret) ? secret.toString().replace(/\r?\n$/, '') : secret
}

function readKeyFile(flag: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new UsageError(`${flag} ${path}: ${codeOf(error) === 'ENOENT' ? 'there is no such file' : messageOf(error)}`)
  }
}

/** What a client says of itself, save what is said to the gateway: a token must not be shown to everybody. */
function clientMeta(payload: Readonly<Record<string, unknown>>): Meta {
  const { presence: _wishes, config: _config, access_token: _token, ...meta } = payload
  return meta as Meta
}
