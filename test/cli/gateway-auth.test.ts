import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { afterAll, describe, expect, test } from 'vitest'
import { resolveCommand } from '../../src/cli/config.ts'
import { type GatewayAuth, gatewayAuth, openAuth } from '../../src/cli/gateway/gateway-auth.ts'
import { parseHostPort } from '../../src/cli/host-port.ts'
import { SERVE } from '../../src/cli/setting-tables.ts'
import { type GatewayQuestion, type Identity, readAnswer } from '../../src/net/gateway/rights/hooks.ts'

const directory = mkdtempSync(join(tmpdir(), 'rollcall-auth-'))
const SECRET = 'a secret of at least thirty-two bytes'
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })

afterAll(() => rmSync(directory, { recursive: true, force: true }))

function file(name: string, content: string | Buffer): string {
  const path = join(directory, name)
  writeFileSync(path, content)
  return path
}

const read = (flags: Record<string, unknown>, listen = '127.0.0.1:0'): GatewayAuth =>
  gatewayAuth(resolveCommand(SERVE, flags, {}).settings, parseHostPort(listen, '--gateway'))

const identify = async (
  { authenticate }: GatewayAuth,
  request: { params?: Record<string, string>; token?: string; host?: string }
): Promise<Identity | null | undefined> =>
  authenticate({
    params: request.params ?? {},
    token: request.token,
    headers: { host: request.host ?? '127.0.0.1:7480' },
    address: '127.0.0.1',
    path: '/socket'
  })

const decide = async ({ authorize }: GatewayAuth, asked: Partial<GatewayQuestion>) => {
  const identity = asked.identity ?? { user: 'ann' }
  const rest = { user: 'ann', topic: 'room:1', action: 'watch', payload: {}, wantedKey: undefined, address: '', ...asked } as const
  return readAnswer(await authorize({ ...rest, identity }))
}

const sign = (claims: object, alg = 'HS256', key: Parameters<SignJWT['sign']>[0] = new TextEncoder().encode(SECRET)): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg }).sign(key)

describe('--gateway-auth open', () => {
  test('a user is who he says, or a guest; a guest who comes back with his session is the same', async () => {
    expect(await identify(openAuth, { params: { user: 'ada' } })).toEqual({ user: 'ada' })
    const guests = await Promise.all(
      [{ session: 's1' }, { session: 's1' }, { session: 's2' }, {}, {}].map(params => identify(openAuth, { params }))
    )
    const names = guests.map(guest => guest?.user)
    expect(names[0]).toMatch(/^guest-[0-9a-f]{8}$/)
    expect(names[0]).toBe(names[1])
    expect(new Set(names).size).toBe(4)
    expect(names[0]).not.toContain('s1')
  })

  test('a page whose name was made to point to the loopback gets nowhere', async () => {
    for (const host of ['evil.example', 'evil.example:7480', '127.0.0.1.evil.example', '', '[::1]x']) {
      expect(await identify(openAuth, { params: { user: 'ada' }, host })).toBeNull()
    }
    for (const host of ['localhost', 'localhost:7480', '[::1]:7480']) {
      expect(await identify(openAuth, { params: { user: 'ada' }, host })).toEqual({ user: 'ada' })
    }
  })

  test('everything is allowed; shown is what the client says of itself, and not what it says to the gateway', async () => {
    expect(await decide(openAuth, { topic: 'rollcall:cluster' })).toMatchObject({ allowed: true })
    const payload = { status: 'away', presence: { watch: 'counts' }, config: {}, access_token: 'secret' }
    expect(await decide(openAuth, { action: 'present', payload })).toMatchObject({
      allowed: true,
      meta: { status: 'away' },
      key: undefined
    })
    const keyed = await decide(openAuth, { action: 'present', payload, wantedKey: 'k' })
    expect(keyed).toEqual({ allowed: true, meta: { status: 'away' }, key: 'k', validMs: undefined })
  })

  test.each(['0.0.0.0:7480', '10.0.0.1:0', '[::]:80', 'app.example:80'])('not on %s, where others reach it', listen => {
    expect(() => read({}, listen)).toThrow(/allowed with --gateway-auth open is the loopback only; give --gateway-auth jwt/)
    expect(() => read({}, listen)).toThrow(expect.objectContaining({ name: 'UsageError', exitCode: 2 }))
    expect(read({ gatewayAuth: 'jwt', jwtSecretFile: file('secret', SECRET) }, listen)).toBeDefined()
  })

  test('a key that would not be looked at is a mistake', () => {
    expect(() => read({ jwtIssuer: 'x' })).toThrow('--jwt-issuer is given, allowed with --gateway-auth jwt; it is open')
  })
})

describe('--gateway-auth jwt', () => {
  test('a secret from a file, without the newline at its end', async () => {
    for (const content of [SECRET, `${SECRET}\n`, `${SECRET}\r\n`]) {
      const auth = read({ gatewayAuth: 'jwt', jwtSecretFile: file('secret', content) })
      expect(await identify(auth, { token: await sign({ sub: 'ann' }) })).toMatchObject({ user: 'ann' })
      expect(await identify(auth, { params: { user: 'ann' } })).toBeNull()
    }
  })

  test('a secret of random bytes is taken as it is', async () => {
    const bytes = Buffer.concat([Buffer.alloc(40, 0xff), Buffer.from('\n')])
    const auth = read({ gatewayAuth: 'jwt', jwtSecretFile: file('bytes', bytes) })
    expect(await identify(auth, { token: await sign({ sub: 'ann' }, 'HS256', new Uint8Array(bytes)) })).toMatchObject({ user: 'ann' })
  })

  test('a public key, an issuer and an audience', async () => {
    const jwtPublicKey = file('key.pem', ec.publicKey.export({ type: 'spki', format: 'pem' }))
    const auth = read({ gatewayAuth: 'jwt', jwtPublicKey, jwtIssuer: 'app', jwtAudience: 'presence' })
    const token = (claims: object): Promise<string> => sign(claims, 'ES256', ec.privateKey)
    expect(await identify(auth, { token: await token({ sub: 'ann', iss: 'app', aud: 'presence' }) })).toMatchObject({ user: 'ann' })
    expect(await identify(auth, { token: await token({ sub: 'ann', iss: 'app' }) })).toBeNull()
    expect(await identify(auth, { token: await token({ sub: 'ann', iss: 'other', aud: 'presence' }) })).toBeNull()
  })

  test('the claim says what is allowed, the live page included; its meta stands over the client’s', async () => {
    const auth = read({ gatewayAuth: 'jwt', jwtSecretFile: file('secret', SECRET) })
    const rights = { watch: ['room:*', 'rollcall:cluster'], present: ['room:1'], meta: { name: 'Ann' } }
    const identity = (await identify(auth, { token: await sign({ sub: 'ann', rollcall: rights }) })) as Identity
    expect(await decide(auth, { identity, topic: 'rollcall:cluster' })).toMatchObject({ allowed: true })
    expect(await decide(auth, { identity, topic: 'hall' })).toMatchObject({ allowed: false })
    const payload = { status: 'away', name: 'Root', access_token: 'x' }
    expect(await decide(auth, { identity, action: 'present', payload })).toMatchObject({ meta: { name: 'Ann', status: 'away' } })
    expect(await decide(auth, { identity: { user: 'eve', claims: {} }, topic: 'rollcall:cluster' })).toMatchObject({ allowed: false })
  })

  test.each([
    [{}, /needs one of --jwt-secret-file and --jwt-public-key; neither is given/],
    [{ jwtSecretFile: 'a', jwtPublicKey: 'b' }, /needs one of .*; both are given/],
    [{ jwtSecretFile: '/no/such/file' }, /^--jwt-secret-file \/no\/such\/file: there is no such file$/],
    [{ jwtSecretFile: directory }, /^--jwt-secret-file .*: EISDIR/],
    [{ jwtPublicKey: '/no/such/file' }, /^--jwt-public-key \/no\/such\/file: there is no such file$/],
    [{ jwtSecretFile: file('short', 'hunter2\n') }, /^--jwt-secret-file .*short: secret has 7 bytes, allowed are 32 or more/],
    [{ jwtPublicKey: file('no.pem', 'hunter2') }, /^--jwt-public-key .*no\.pem: publicKey is no PEM of a public key/]
  ])('%j is refused', (flags, message) => {
    const make = (): unknown => read({ gatewayAuth: 'jwt', ...flags })
    expect(make).toThrow(message)
    expect(make).toThrow(expect.objectContaining({ name: 'UsageError', exitCode: 2 }))
    expect(make).not.toThrow(/hunter2/)
  })
})
