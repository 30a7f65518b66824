import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { isOriginAllowed, matchPath, proofOf, readRequest, urlOf } from '../../../src/net/gateway/doors/request.ts'
import { resolved } from './fakes.ts'

const request = (url: string, headers: Record<string, string> = {}): IncomingMessage =>
  ({ url, headers, socket: { remoteAddress: '127.0.0.1' } }) as unknown as IncomingMessage
const read = (url: string, headers: Record<string, string> = {}) =>
  readRequest(request(url, headers), urlOf(request(url)) as URL, '/socket', resolved())

describe('a request', () => {
  it('the params are the query without what is the protocol’s; of a name given twice the last counts', () => {
    const { params } = read('/socket/websocket?user=ann&vsn=2.0.0&user=bob&token=poll.xyz&token=null')
    expect({ ...params }).toEqual({ user: 'bob' })
  })

  it('pub-F3: params that name built-in properties are ordinary params', () => {
    const { params } = read('/socket/websocket?__proto__=a&constructor=b')
    expect([Object.getPrototypeOf(params), Object.entries(params), params.toString]).toEqual([
      null,
      [
        ['__proto__', 'a'],
        ['constructor', 'b']
      ],
      undefined
    ])
  })

  it('the first token that is there counts: subprotocol, bearer, header, params', () => {
    const protocol = `phoenix, base64url.bearer.phx.${Buffer.from('one').toString('base64url')}`
    const headers = { authorization: 'Bearer two', 'x-phoenix-authtoken': 'three' }
    const url = '/socket/websocket?token=four&access_token=five&apikey=six'
    expect(read(url, { ...headers, 'sec-websocket-protocol': protocol }).token).toBe('one')
    expect(read(url, headers).token).toBe('two')
    expect(read(url, { 'x-phoenix-authtoken': 'three' }).token).toBe('three')
    expect(read(url).token).toBe('four')
    expect(read(url.replace('token=four&', '')).token).toBe('five')
    expect(read('/socket/websocket?apikey=six').token).toBe('six')
    expect(read('/socket/websocket').token).toBeUndefined()
  })

  it('the proof of two requests is the same where authenticate could not tell them apart, and none without a token', () => {
    const proof = (url: string, headers?: Record<string, string>): string | undefined => proofOf(read(url, headers))
    const one = proof('/socket/websocket?token=a&user=ann')
    expect(one).toBe(proof('/socket/websocket?token=a&user=ann&vsn=2.0.0', { 'user-agent': 'x' }))
    expect(one).not.toBe(proof('/socket/websocket?token=b&user=ann'))
    expect(one).not.toBe(proof('/socket/websocket?token=a&user=bob'))
    expect(one).not.toBe(proof('/socket/websocket?token=a&user=ann', { cookie: 'a=b' }))
    expect(proof('/socket/websocket?user=ann')).toBeUndefined()
  })

  it.each([
    ['/socket/websocket', { path: '/socket', transport: 'websocket' }],
    ['/socket/longpoll', { path: '/socket', transport: 'longpoll' }],
    ['/other/deep/websocket', { path: '/other/deep', transport: 'websocket' }],
    ['/socket', undefined],
    ['/socket/', undefined],
    ['/socket/websocket/', undefined],
    ['/socket//websocket', undefined],
    ['/websocket', undefined],
    ['/socket/__proto__', undefined],
    ['/SOCKET/websocket', undefined],
    ['', undefined]
  ])('path %s', (pathname, match) => {
    expect(matchPath(pathname, ['/socket', '/other/deep'])).toEqual(match)
  })

  it.each(['//', 'http://[', '', '/%', '/%zz?%=%', '/?\ud800', '*', 'http://a b/'])('a target that is odd does not throw: %s', target => {
    expect(() => urlOf(request(target))).not.toThrow()
  })

  it.each([
    [undefined, undefined, 'a.example', true],
    [undefined, 'https://a.example', 'a.example', true],
    [undefined, 'http://a.example:4000', 'a.example:4000', true],
    [undefined, 'https://evil.example', 'a.example', false],
    [undefined, 'https://a.example.evil.example', 'a.example', false],
    [undefined, 'https://a.example@evil.example', 'a.example', false],
    [undefined, 'null', 'a.example', false],
    [undefined, 'null', undefined, false],
    [undefined, '', 'a.example', false],
    [['https://app.example'], 'https://app.example', 'a.example', true],
    [['https://app.example'], 'http://app.example', 'a.example', false],
    [['https://app.example'], 'https://a.example', 'a.example', false],
    ['*', 'null', 'a.example', true]
  ] as const)('origins %o: a page of %s at host %s may come in: %s', (origins, origin, host, isAllowed) => {
    const headers = { ...(origin !== undefined && { origin }), ...(host !== undefined && { host }) }
    expect(isOriginAllowed({ headers } as IncomingMessage, resolved(origins === undefined ? {} : { origins }).origins)).toBe(isAllowed)
  })
})
