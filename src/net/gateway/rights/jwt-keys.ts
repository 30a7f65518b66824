import { createPublicKey, type KeyObject } from 'node:crypto'
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { InvalidOptionsError } from '../../../tracker/errors.ts'

/** Algorithms of a public key. */
export type JwtAlgorithm = 'RS256' | 'RS384' | 'RS512' | 'PS256' | 'PS384' | 'PS512' | 'ES256' | 'ES384' | 'ES512' | 'EdDSA'

/** Where the key comes from; exactly one. */
export interface JwtKeyOptions {
  /** Shared with whoever signs, for HS256. At least 32 bytes; a text counts in UTF-8. */
  readonly secret?: string | Uint8Array
  /** PEM, `-----BEGIN PUBLIC KEY-----`. */
  readonly publicKey?: string
  /** Of `publicKey`. Default by the key: RS256, ES256, ES384, ES512 or EdDSA. */
  readonly algorithm?: JwtAlgorithm
  /** Public keys that you have fetched; a token names its own by `kid`. For a new set make a new hook. */
  readonly jwks?: JSONWebKeySet
}

/** What verifies, and the only algorithms that it may be used with. */
export interface JwtKey {
  readonly key: Uint8Array | KeyObject | JWTVerifyGetKey
  readonly algorithms: readonly string[]
}

const SECRET_MIN_BYTES = 32
const RSA_MIN_BITS = 2_048
const RSA: readonly JwtAlgorithm[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
/** By the curve of the key. */
const CURVES: Readonly<Record<string, JwtAlgorithm>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' }
/** `Ed25519` is the newer name of `EdDSA` with that curve. */
const JWKS_ALGORITHMS: readonly string[] = [...RSA, ...Object.values(CURVES), 'EdDSA', 'Ed25519']

/** @throws InvalidOptionsError unless there is exactly one key, and it is fit. */
export function readJwtKey({ secret, publicKey, algorithm, jwks }: JwtKeyOptions): JwtKey {
  const given = Object.entries({ secret, publicKey, jwks }).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (given.length !== 1) {
    throw new InvalidOptionsError(`given are ${given.join(' and ') || 'no keys'}, allowed is exactly one of secret, publicKey and jwks`)
  }
  if (algorithm !== undefined && publicKey === undefined) {
    throw new InvalidOptionsError(`algorithm is ${algorithm}, allowed only with publicKey: a secret is for HS256, a jwks names its own`)
  }
  return secret !== undefined ? readSecret(secret) : publicKey !== undefined ? readPublicKey(publicKey, algorithm) : readJwks(jwks)
}

// No message shows a key: messages end up in logs.
function readSecret(secret: string | Uint8Array): JwtKey {
  if (typeof secret !== 'string' && !(secret instanceof Uint8Array)) {
    throw new InvalidOptionsError(`secret is a ${typeof secret}, allowed is a text or a Uint8Array`)
  }
  const key = typeof secret === 'string' ? new TextEncoder().encode(secret) : Uint8Array.from(secret)
  if (key.length < SECRET_MIN_BYTES) {
    throw new InvalidOptionsError(`secret has ${key.length} bytes, allowed are ${SECRET_MIN_BYTES} or more: a shorter one can be guessed`)
  }
  return { key, algorithms: ['HS256'] }
}

function readPublicKey(pem: string, algorithm: JwtAlgorithm | undefined): JwtKey {
  // Node would take a private key or a certificate as well.
  if (typeof pem !== 'string' || !pem.trimStart().startsWith('-----BEGIN PUBLIC KEY-----')) {
    throw new InvalidOptionsError('publicKey is no PEM of a public key, allowed is one that begins with -----BEGIN PUBLIC KEY-----')
  }
  let key: KeyObject
  try {
    key = createPublicKey(pem)
  } catch (error) {
    throw new InvalidOptionsError(`publicKey cannot be read: ${(error as Error).message}`)
  }
  const fit = algorithmsOf(key)
  const chosen = algorithm ?? fit[0]
  if (chosen === undefined || !fit.includes(chosen)) {
    const kind = `${key.asymmetricKeyType ?? 'unknown'} key`
    throw new InvalidOptionsError(
      fit.length === 0
        ? `publicKey is a ${kind}, allowed are RSA of ${RSA_MIN_BITS} bits or more, P-256, P-384, P-521 and Ed25519`
        : `algorithm is ${chosen}, allowed with this ${kind} is ${fit.join(', ')}`
    )
  }
  return { key, algorithms: chosen === 'EdDSA' ? ['EdDSA', 'Ed25519'] : [chosen] }
}

/** The default first. */
function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly JwtAlgorithm[] {
  switch (asymmetricKeyType) {
    case 'rsa':
      return (asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_MIN_BITS ? RSA : []
    case 'ec': {
      const algorithm = CURVES[asymmetricKeyDetails?.namedCurve ?? '']
      return algorithm === undefined ? [] : [algorithm]
    }
    case 'ed25519':
      return ['EdDSA']
    default:
      return []
  }
}

function readJwks(jwks: JSONWebKeySet | undefined): JwtKey {
  const keys: unknown = jwks?.keys
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new InvalidOptionsError('jwks has no keys, allowed is an object { keys: [ … ] } with one or more')
  }
  for (const [index, key] of keys.entries()) {
    if (!['RSA', 'EC', 'OKP'].includes(key?.kty) || key.d !== undefined) {
      const what = key?.d === undefined ? `of the kty ${JSON.stringify(key?.kty)}` : 'a private key'
      throw new InvalidOptionsError(`jwks.keys[${index}] is ${what}, allowed are public keys of the kty RSA, EC or OKP`)
    }
  }
  return { key: createLocalJWKSet(jwks as JSONWebKeySet), algorithms: JWKS_ALGORITHMS }
}
