import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { exportJWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { type GatewayQuestion, type Identity, readAnswer } from '../../src/net/gateway/rights/hooks.ts'
import { authenticateJwt, authorizeByClaims, type ClaimsOptions, type JwtOptions } from '../../src/net/gateway/rights/jwt.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const secretBytes = new TextEncoder().encode(SECRET)
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const ed25519 = generateKeyPairSync('ed25519')
const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString()
const nowSeconds = (): number => Math.floor(Date.now() / 1_000)

const sign = (claims: JWTPayload, key: KeyObject | Uint8Array = secretBytes, alg = 'HS256', header: object = {}): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg, ...header }).sign(key)

async function ask(options: JwtOptions, token: string | undefined): Promise<Identity | null | undefined> {
  return authenticateJwt(options)({ params: {}, token, headers: {}, address: '127.0.0.1', path: '/socket' })
}

describe('authenticateJwt: who a token is', () => {
  test('sub is the user, exp the end, and the payload the claims', async () => {
    const claims = { sub: 'user:ann', exp: nowSeconds() + 60, rollcall: { watch: ['room:*'] } }
    expect(await ask({ secret: SECRET }, await sign(claims))).toEqual({ user: 'user:ann', expiresAtMs: claims.exp * 1_000, claims })
    expect(await ask({ secret: secretBytes }, await sign(claims))).toMatchObject({ user: 'user:ann' })
  })

  test('a token without exp never ends; one that ends in a million years ends then or never, and is no error', async () => {
    expect(await ask({ secret: SECRET }, await sign({ sub: 'ann' }))).toEqual({ user: 'ann', claims: { sub: 'ann' } })
    expect(await ask({ secret: SECRET }, await sign({ sub: 'ann', exp: 1e300 }))).not.toHaveProperty('expiresAtMs')
  })

  test('user and session are what the options make of the claims', async () => {
    const options: JwtOptions = {
      secret: SECRET,
      user: claims => `account:${String(claims.account)}`,
      session: claims => claims.device as string | undefined
    }
    expect(await ask(options, await sign({ account: 7, device: 'd1' }))).toMatchObject({ user: 'account:7', session: 'd1' })
    expect(await ask(options, await sign({ account: 7 }))).not.toHaveProperty('session')
  })

  test('no user, no entry: a missing or wrong sub, or an option that throws', async () => {
    expect(await ask({ secret: SECRET }, await sign({}))).toBeNull()
    expect(await ask({ secret: SECRET }, await sign({ sub: '' }))).toBeNull()
    expect(await ask({ secret: SECRET }, await sign({ sub: 7 } as unknown as JWTPayload))).toBeNull()
    const fails = (): string => {
      throw new Error('no such claim')
    }
    expect(await ask({ secret: SECRET, user: fails }, await sign({ sub: 'ann' }))).toBeNull()
    expect(await ask({ secret: SECRET, session: () => '' }, await sign({ sub: 'ann' }))).toBeNull()
  })

  test.each([
    ['RSA', rsa, undefined, 'RS256'],
    ['RSA', rsa, 'PS512', 'PS512'],
    ['P-256', p256, undefined, 'ES256'],
    ['P-384', p384, undefined, 'ES384'],
    ['Ed25519', ed25519, undefined, 'EdDSA'],
    ['Ed25519 by its newer name', ed25519, 'EdDSA', 'Ed25519']
  ] as const)('publicKey: %s', async (_, pair, algorithm, alg) => {
    const options: JwtOptions = { publicKey: pem(pair.publicKey), ...(algorithm !== undefined && { algorithm }) }
    expect(await ask(options, await sign({ sub: 'ann' }, pair.privateKey, alg))).toMatchObject({ user: 'ann' })
  })

  test('jwks: the key that the token names by its kid', async () => {
    const keys = [
      { ...(await exportJWK(rsa.publicKey)), kid: 'r', alg: 'RS256' },
      { ...(await exportJWK(p256.publicKey)), kid: 'e' }
    ]
    const options: JwtOptions = { jwks: { keys } }
    expect(await ask(options, await sign({ sub: 'ann' }, rsa.privateKey, 'RS256', { kid: 'r' }))).toMatchObject({ user: 'ann' })
    expect(await ask(options, await sign({ sub: 'ann' }, p256.privateKey, 'ES256', { kid: 'e' }))).toMatchObject({ user: 'ann' })
    expect(await ask(options, await sign({ sub: 'ann' }, p256.privateKey, 'ES256', { kid: 'x' }))).toBeNull()
    expect(await ask(options, await sign({ sub: 'ann' }, rsa.privateKey, 'RS512', { kid: 'r' }))).toBeNull()
  })
})

describe('authenticateJwt: whom it turns away', () => {
  test('no token, and what is none', async () => {
    const good = await sign({ sub: 'ann' })
    for (const token of [
      undefined,
      '',
      '.',
      '..',
      'x',
      'a.b.c',
      `${good}x`,
      `${good}.x`,
      good.slice(0, -2),
      ' '.repeat(10_000),
      '\u0000'
    ]) {
      expect(await ask({ secret: SECRET }, token)).toBeNull()
    }
  })

  test('signed with another key', async () => {
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    expect(await ask({ secret: SECRET }, await sign({ sub: 'ann' }, new TextEncoder().encode(`${SECRET}!`)))).toBeNull()
    expect(await ask({ publicKey: pem(p256.publicKey) }, await sign({ sub: 'ann' }, other.privateKey, 'ES256'))).toBeNull()
  })

  test('the header does not choose the algorithm: not none, not the public key as a secret, not another one of the same key', async () => {
    const unsigned = new UnsecuredJWT({ sub: 'ann' }).encode()
    const keys = [await exportJWK(rsa.publicKey)]
    const forged = await sign({ sub: 'ann' }, new TextEncoder().encode(pem(rsa.publicKey)), 'HS256')
    for (const options of [{ secret: SECRET }, { publicKey: pem(rsa.publicKey) }, { jwks: { keys } }]) {
      expect(await ask(options, unsigned)).toBeNull()
      expect(await ask(options, forged)).toBeNull()
    }
    expect(await ask({ publicKey: pem(rsa.publicKey) }, await sign({ sub: 'ann' }, rsa.privateKey, 'RS512'))).toBeNull()
    expect(await ask({ secret: SECRET }, await sign({ sub: 'ann' }, new Uint8Array(64).fill(1), 'HS512'))).toBeNull()
  })

  test('expired, or not valid yet, by more than the tolerance', async () => {
    const late = await sign({ sub: 'ann', exp: nowSeconds() - 5 })
    expect(await ask({ secret: SECRET }, late)).toBeNull()
    expect(await ask({ secret: SECRET }, await sign({ sub: 'ann', nbf: nowSeconds() + 60 }))).toBeNull()
    expect(await ask({ secret: SECRET, clockToleranceMs: 1_000 }, late)).toBeNull()
    const tolerated = await ask({ secret: SECRET, clockToleranceMs: 60_000 }, late)
    expect(tolerated?.expiresAtMs).toBeGreaterThan(Date.now())
  })

  test('of another issuer, for another audience', async () => {
    const options: JwtOptions = { secret: SECRET, issuer: 'https://app.example', audience: ['presence', 'chat'] }
    const good = { sub: 'ann', iss: 'https://app.example', aud: 'chat' }
    expect(await ask(options, await sign(good))).toMatchObject({ user: 'ann' })
    for (const bad of [
      { ...good, iss: 'x' },
      { ...good, aud: 'mail' },
      { sub: 'ann', aud: 'chat' },
      { sub: 'ann', iss: good.iss }
    ]) {
      expect(await ask(options, await sign(bad))).toBeNull()
    }
  })
})

describe('authenticateJwt: refusals say what is allowed, and show no key', () => {
  const privatePem = p256.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const small = generateKeyPairSync('rsa', { modulusLength: 1_024 })

  test.each([
    [{}, 'given are no keys, allowed is exactly one of secret, publicKey and jwks'],
    [{ secret: undefined }, 'given are no keys'],
    [{ secret: SECRET, publicKey: pem(rsa.publicKey) }, 'given are secret and publicKey, allowed is exactly one'],
    [{ secret: 'hunter2' }, 'secret has 7 bytes, allowed are 32 or more'],
    [{ secret: 7 }, 'secret is a number, allowed is a text or a Uint8Array'],
    [{ secret: SECRET, algorithm: 'RS256' }, 'algorithm is RS256, allowed only with publicKey'],
    [{ publicKey: 'x' }, 'publicKey is no PEM of a public key'],
    [{ publicKey: privatePem }, 'publicKey is no PEM of a public key'],
    [{ publicKey: '-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----' }, 'publicKey cannot be read: '],
    [{ publicKey: pem(small.publicKey) }, 'publicKey is a rsa key, allowed are RSA of 2048 bits or more, P-256'],
    [{ publicKey: pem(p256.publicKey), algorithm: 'RS256' }, 'algorithm is RS256, allowed with this ec key is ES256'],
    [{ publicKey: pem(rsa.publicKey), algorithm: 'HS256' }, 'algorithm is HS256, allowed with this rsa key is RS256, RS384'],
    [{ publicKey: pem(rsa.publicKey), algorithm: 'none' }, 'algorithm is none, allowed with this rsa key is'],
    [{ jwks: { keys: [] } }, 'jwks has no keys'],
    [
      { jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } },
      'jwks.keys[0] is of the kty "oct", allowed are public keys of the kty RSA, EC or OKP'
    ],
    [{ jwks: { keys: [p256.privateKey.export({ format: 'jwk' })] } }, 'jwks.keys[0] is a private key'],
    [{ secret: SECRET, issuer: '' }, 'issuer is "", allowed is a text or an array of texts'],
    [{ secret: SECRET, audience: [] }, 'audience is [], allowed is a text or an array'],
    [{ secret: SECRET, clockToleranceMs: -1 }, 'clockToleranceMs is -1, allowed is an integer from 0'],
    [{ secret: SECRET, user: 'sub' }, 'user is sub, allowed is a function'],
    [{ secret: SECRET, leeway: 5 }, 'unknown option leeway']
  ])('%#', (options, message) => {
    const make = (): unknown => authenticateJwt(options as JwtOptions)
    expect(make).toThrow(message)
    expect(make).toThrow(expect.objectContaining({ name: 'InvalidOptionsError', code: 'ERR_INVALID_OPTIONS' }))
    expect(make).not.toThrow(/hunter2|c2VjcmV0/)
  })
})

describe('authorizeByClaims', () => {
  const question = (rights: unknown, asked: Partial<GatewayQuestion>, claim = 'rollcall'): GatewayQuestion => ({
    user: 'ann',
    topic: 'room:1',
    action: 'watch',
    payload: {},
    wantedKey: undefined,
    identity: { user: 'ann', claims: { [claim]: rights } },
    address: '127.0.0.1',
    ...asked
  })
  const decide = async (asked: GatewayQuestion, options?: ClaimsOptions) => readAnswer(await authorizeByClaims(options)(asked))

  test.each([
    [['room:1'], 'room:1', true],
    [['room:1'], 'room:11', false],
    [['room:*'], 'room:', true],
    [['hall', 'room:*'], 'room:1', true],
    [['*'], 'anything', true],
    [['room:*'], 'hall:1', false],
    [['*:1'], 'room:1', false],
    [['*:1'], '*:1', true],
    [['r*m:*'], 'room:1', false],
    [['r*x'], 'r*', false],
    [[], 'room:1', false],
    ['room:1', 'room:1', false],
    [[7, null], 'room:1', false]
  ])('the patterns %j, the topic %s: %s', async (patterns, topic, allowed) => {
    for (const action of ['watch', 'present'] as const) {
      expect((await decide(question({ [action]: patterns }, { topic, action }))).allowed).toBe(allowed)
    }
  })

  test('watch is not present, and the other way round', async () => {
    expect((await decide(question({ watch: ['*'] }, { action: 'present' }))).allowed).toBe(false)
    expect((await decide(question({ present: ['*'] }, { action: 'watch' }))).allowed).toBe(false)
  })

  test('denied without claims, without the claim, and with one that is written otherwise', async () => {
    const inherited: unknown = Object.create({ rollcall: { watch: ['*'] } })
    for (const claims of [
      inherited,
      undefined,
      null,
      'x',
      [],
      {},
      { rollcall: null },
      { rollcall: 'room:*' },
      { rollcall: [['room:*']] }
    ]) {
      expect(await decide({ ...question({}, {}), identity: { user: 'ann', claims } })).toMatchObject({
        allowed: false,
        reason: 'unauthorized'
      })
    }
    expect(await decide(question({ present: ['*'], meta: 'x' }, { action: 'present' }))).toMatchObject({ allowed: false })
    expect(await decide(question({ watch: ['*'] }, {}, 'toString'), { claim: '__proto__' })).toMatchObject({ allowed: false })
  })

  test('of a client is shown the meta of its claim; of its own words only what clientMeta says, and never over the claim’s', async () => {
    const rights = { present: ['room:*'], meta: { name: 'Ann', role: 'guest' } }
    const asked = question(rights, { action: 'present', payload: { status: 'away', role: 'admin', token: 'x' } })
    expect(await decide(asked)).toMatchObject({ allowed: true, meta: rights.meta })
    const clientMeta = ({ status, role }: Readonly<Record<string, unknown>>) => ({ status: String(status), role: String(role) })
    expect(await decide(asked, { clientMeta })).toMatchObject({ meta: { name: 'Ann', role: 'guest', status: 'away' } })
    expect(await decide(question({ present: ['*'] }, { action: 'present' }))).toMatchObject({ allowed: true, meta: {} })
  })

  test('another claim by its name', async () => {
    expect(
      await decide(question({ watch: ['*'] }, {}, 'https://app.example/presence'), { claim: 'https://app.example/presence' })
    ).toMatchObject({ allowed: true })
  })

  test('bad options are refused', () => {
    expect(() => authorizeByClaims({ claim: '' })).toThrow('claim is "", allowed is a string of 1 to')
    expect(() => authorizeByClaims({ clientMeta: 'all' as never })).toThrow('clientMeta is all, allowed is a function')
    expect(() => authorizeByClaims({ meta: {} } as never)).toThrow('unknown option meta')
  })
})
