import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { allow, deny, type GatewayOptions } from '../../src/net/gateway/index.ts'
import type { Tracker } from '../../src/tracker/types.ts'
import { CHROMIUM, openBrowser, openPage } from '../support/gateway/chromium.ts'
import { closeAll } from '../support/gateway/close-all.ts'
import { startCluster } from '../support/gateway/cluster.ts'
import { startGateway } from '../support/gateway/serve-gateway.ts'
import { spawnReplica } from '../support/net/child-replica.ts'
import { until } from '../support/net/until.ts'

if (CHROMIUM === undefined) {
  console.warn('no Chromium here: the live page is not looked at; name one in the variable CHROMIUM')
}

const OPEN: Partial<GatewayOptions> = { page: true, authenticate: () => ({ user: 'ops' }), authorize: () => allow() }

/** The text of each cell of a table's rows. */
const cells = (page: Page, rows: string): Promise<string[][]> =>
  page.locator(rows).evaluateAll(found => found.map(row => [...row.children].map(cell => (cell.textContent ?? '').trim())))

/** Waits until a text is on the page, as people see it. */
const see = (page: Page, where: string, text: string | RegExp): Promise<void> =>
  page.locator(where).filter({ hasText: text }).first().waitFor()

const live = (page: Page): Promise<void> => page.locator('[data-state="open"]').waitFor()
const topicButton = (page: Page, topic: string) => page.locator('#topic-rows').getByRole('button', { name: topic, exact: true })

describe.skipIf(CHROMIUM === undefined)('the live page, in a browser', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterEach(async () => {
    await Promise.all(browser.contexts().map(context => context.close()))
  })
  afterAll(() => closeAll())

  it('shows what happens elsewhere: joins, and a replica that is killed, without a fault or a request to another host', async () => {
    const { members } = await startCluster(2, { gateway: OPEN, replica: { graceMs: 1_000 } })
    const [here, there] = members as [(typeof members)[0], (typeof members)[0]]
    const child = await spawnReplica({ cluster: 'test', bootstrap: here.replica.addresses(), graceMs: 1_000 })
    await until('the child is known', () => here.tracker.replicas().some(({ id, status }) => id === child.id && status === 'up'))
    const { page, troubles, hosts } = await openPage(browser)
    await page.goto(here.origin)
    await live(page)

    const short = (id: string): string => `…${id.slice(-8)}`
    await page.locator('#replica-rows tr').nth(2).waitFor()
    const rows = await cells(page, '#replica-rows tr')
    expect(rows[0]?.[0]).toContain(short(here.tracker.id))
    expect(rows[0]?.[0]).toContain('this one')
    expect(rows.map(row => row[1])).toEqual(['●up', '●up', '●up'])
    expect(await page.locator('#replica-rows th').first().getAttribute('title')).toBe(here.tracker.id)
    await see(page, '#figure-replicas', '3 of 3')
    await see(page, '#user', 'ops')

    const evil = '<img src=x onerror=alert(1)>'
    const ann = there.tracker.connect('ann')
    ann.track(evil, { status: '<b>here</b>' })
    await topicButton(page, evil).click()
    await see(page, '#member-rows tr', 'ann')
    expect(await cells(page, '#member-rows tr')).toEqual([['ann', '1', '{"status":"<b>here</b>"}']])
    await see(page, '#event-rows li', `ann joined ${evil} on ${short(there.tracker.id)}`)
    ann.update(evil, { status: 'away' })
    await see(page, '#member-rows tr', '"away"')
    there.tracker.connect('bob').track(evil)
    await see(page, '#topic-said', '2 keys, 2 presences, live')
    ann.untrack(evil)
    await see(page, '#topic-said', '1 key, 1 presence, live')
    await see(page, '#event-rows li', `ann left ${evil} (left)`)

    child.child.kill('SIGKILL')
    const row = page.locator('#replica-rows tr', { hasText: short(child.id) })
    await row.filter({ hasText: /▲\s*suspect/ }).waitFor()
    await row.filter({ hasText: /■\s*down/ }).waitFor()
    await see(page, '#figure-replicas', '2 of 3')
    await see(page, '#announcer', `Replica ${short(child.id)} is down.`)
    await see(page, '#event-rows li', 'child left room (node-failed)')
    expect(await page.title()).toBe('(1 not up) Rollcall')

    expect(troubles).toEqual([])
    expect([...hosts]).toEqual([new URL(here.origin).host])
    expect(await page.locator('img').count()).toBe(1)
  })

  it('says whether all hold the same, and the same hash on every replica', async () => {
    const { members } = await startCluster(3, { gateway: OPEN })
    members[1]?.tracker.connect('ann').track('room:1')
    const pages = await Promise.all(
      members.map(async ({ origin }) => {
        const { page } = await openPage(browser)
        await page.goto(origin)
        await see(page, '#figure-presences', '1')
        return page
      })
    )
    for (const page of pages) {
      await see(page, '#figure-agree', '3 of 3')
    }
    // The pages are users as well: their coming has to be everywhere first.
    await expect.poll(async () => new Set(await Promise.all(pages.map(hashes))).size, { timeout: 20_000 }).toBe(1)
    expect(await hashes(pages[0] as Page)).toMatch(/^(\S+ [0-9a-f]{16}(, )?){3}$/)
  })

  it('asks for a token where it is refused, says when it is not accepted, and keeps it in the tab', async () => {
    const { origin, gateway } = await startGateway({
      trackerOptions: { graceMs: 100 },
      gateway: {
        page: true,
        authenticate: ({ token }) => (token === 'open-sesame' ? { user: 'ali baba' } : token === 'guest' ? { user: 'guest' } : null),
        authorize: ({ user }) => (user === 'guest' ? deny('guests may not') : allow())
      }
    })
    const { page } = await openPage(browser)
    await page.goto(origin)
    const field = page.getByLabel('Token')
    await field.waitFor()
    expect(await page.locator('#live').isVisible()).toBe(false)
    await see(page, '#sign-in-why', 'nobody in without a token')
    expect(gateway.size).toBe(0)

    await field.fill('two words')
    await field.press('Enter')
    await see(page, '#sign-in-why', 'A token has no spaces')
    await field.fill('wrong')
    await field.press('Enter')
    await see(page, '#sign-in-why', 'The token was not accepted.')
    await field.fill('guest')
    await field.press('Enter')
    await see(page, '#sign-in-why', 'you may not see the cluster: guests may not')
    await field.fill('open-sesame')
    await field.press('Enter')
    await see(page, '#user', 'ali baba')
    await see(page, '#figure-users', '1')
    expect(await page.locator('#sign-in').isVisible()).toBe(false)
    expect(page.url()).not.toContain('sesame')

    await page.reload()
    await see(page, '#user', 'ali baba')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await see(page, '#sign-in-why', 'nobody in without a token')
  })

  it('goes on by itself when the replica was away: connection, state, the topic that is looked at, events', async () => {
    const first = await startGateway({ gateway: OPEN })
    const { page } = await openPage(browser)
    await page.goto(first.origin)
    await page.locator('#live').waitFor()
    const ann = first.tracker.connect('ann')
    ann.track('room:1')
    await topicButton(page, 'room:1').click()
    await see(page, '#member-rows tr', 'ann')

    const port = Number(new URL(first.origin).port)
    await first.stop()
    await page.locator('[data-state="away"]').waitFor()
    await see(page, '#connection', /does not answer.*as of \d\d:\d\d:\d\d/)
    const second = await startGateway({ gateway: OPEN, port })
    second.tracker.connect('bob').track('room:1')
    await live(page)
    await see(page, '#member-rows tr', 'bob')
    expect(await cells(page, '#member-rows tr')).toHaveLength(1)
    await see(page, '#figure-presences', '1')
    second.tracker.connect('carol').track('room:2')
    await see(page, '#event-rows li', 'carol joined room:2')
    const told = await page.locator('#event-rows .what').allTextContents()
    expect(told.indexOf('what happened before this was missed')).toBeGreaterThan(told.findIndex(each => each.startsWith('carol joined')))
    expect(told.findIndex(each => each.startsWith('ann joined room:1'))).toBeGreaterThan(
      told.indexOf('what happened before this was missed')
    )
    expect(await page.locator('#replica-rows tr').count()).toBe(1)
  })

  it('finds topics and users by how they begin, and says why a user is online', async () => {
    const { origin, tracker } = await startGateway({ gateway: OPEN })
    const ann = tracker.connect('ann', { meta: { device: 'phone' } })
    for (let i = 0; i < 150; i++) {
      ann.track(`room:${String(i).padStart(3, '0')}`)
    }
    tracker.connect('anton').track('lobby')
    const { page, troubles } = await openPage(browser)
    await page.goto(origin)
    await see(page, '#topics-said', 'The 100 largest of 151 topics')

    const filter = page.getByLabel('Topics that begin with')
    await filter.fill('lob')
    await see(page, '#topics-said', /^1$/)
    expect(await cells(page, '#topic-rows tr')).toEqual([['lobby', '1', '1']])
    tracker.connect('bob').track('lobby')
    await page.locator('#topic-rows tr', { hasText: /lobby\s*2\s*2/ }).waitFor()
    await filter.fill('room:')
    await see(page, '#topics-said', '100 and more')
    await page.getByRole('button', { name: 'Show more' }).click()
    await see(page, '#topics-said', /^150$/)
    await filter.fill('nowhere')
    await see(page, '#topics-said', 'There is none.')

    const search = page.getByLabel('Users online that begin with')
    await search.fill('an')
    await see(page, '#users-said', '2 of 4 online')
    await page.locator('#user-rows').getByRole('button', { name: 'anton' }).click()
    await see(page, '#user-why', 'anton is online by 1 connection, with 1 presence')
    await see(page, '#presence-rows tr', 'lobby')
    await search.fill('ann')
    await search.press('Enter')
    await see(page, '#user-why', '50 more are not shown')
    await see(page, '#device-rows tr', '{"device":"phone"}')
    await search.fill('nobody')
    await search.press('Enter')
    await see(page, '#user-why', 'nobody is offline and was not seen here.')
    await page.locator('#user-rows li').first().waitFor({ state: 'detached' })
    expect(troubles).toEqual([])
  })

  it('says so when a topic is too large to list, and when it may not be seen', async () => {
    const { origin, tracker } = await startGateway({
      gateway: { ...OPEN, interval: { abovePresences: 50, sample: 5 }, authorize: ({ topic }) => topic !== 'secret' && allow() }
    })
    for (let i = 0; i < 60; i++) {
      tracker.connect(`user:${i}`).track('stadium')
    }
    tracker.connect('ann').track('secret')
    const { page } = await openPage(browser)
    await page.goto(origin)
    await topicButton(page, 'stadium').click()
    await see(page, '#topic-said', '60 keys, 60 presences. So large or lively that 5 of them stand for all, every 1 s.')
    expect(await page.locator('#member-rows tr').count()).toBe(5)
    await topicButton(page, 'secret').click()
    await see(page, '#topic-said', 'You may not see who is in it: unauthorized.')
    expect(await page.locator('#member-rows tr').count()).toBe(0)
  })

  it('the events can be made to stand still, and shown in part', async () => {
    const { origin, tracker } = await startGateway({ gateway: OPEN })
    const { page } = await openPage(browser)
    await page.goto(origin)
    await live(page)
    await page.locator('#live').waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    tracker.connect('ann').track('room:1')
    await see(page, '#events-said', /^paused; [23] wait$/)
    await page.getByRole('button', { name: 'Pause' }).click()
    await see(page, '#event-rows li', 'ann joined room:1')
    await page.getByLabel('Which events are shown').selectOption('Users')
    const shown = await page
      .locator('#event-rows li')
      .evaluateAll(found => found.filter(each => each.checkVisibility()).map(each => (each as HTMLElement).dataset.group))
    expect(new Set(shown)).toEqual(new Set(['user']))
  })

  it('while nobody sees it, asks nothing; when it is seen again, shows what is so', async () => {
    const { origin, tracker, gateway } = await startGateway({ gateway: OPEN })
    const { page } = await openPage(browser)
    await page.goto(origin)
    await see(page, '#users-said', '1 user online')
    await hide(page, true)
    const asked = gateway.stats().framesIn
    tracker.connect('ann').track('room:1')
    await see(page, '#figure-users', '2')
    await see(page, '#event-rows li', 'ann joined room:1')
    expect(gateway.stats().framesIn).toBe(asked)
    await hide(page, false)
    await see(page, '#users-said', '2 users online')
    await page.locator('#user-rows').getByRole('button', { name: 'ann' }).waitFor()
  })

  it('touches only what changed: rows stay the same elements, and keep the focus', async () => {
    const { origin, tracker } = await startGateway({ gateway: OPEN })
    await crowd(tracker)
    const { page } = await openPage(browser)
    await page.goto(origin)
    await topicButton(page, 'room:7').focus()
    await page.evaluate(() => {
      const changed = new Set<string>()
      Object.assign(window, { changed })
      const rows = document.querySelector('#topic-rows') as Element
      new MutationObserver(records => {
        for (const { target, addedNodes } of records) {
          changed.add(
            target === rows
              ? `moved ${[...addedNodes].map(each => each.textContent).join()}`
              : ((target as HTMLElement).closest?.('tr')?.querySelector('button')?.textContent ?? '')
          )
        }
      }).observe(rows, { subtree: true, childList: true, characterData: true, attributes: true })
    })
    tracker.connect('late').track('room:7')
    await page.locator('#topic-rows tr', { hasText: /^room:7\s*93\s*93$/ }).waitFor()
    const changed = await page.evaluate(() => [...(window as unknown as { changed: Set<string> }).changed])
    expect(changed.filter(each => !each.includes('room:7'))).toEqual([])
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('room:7')
  })

  it('can be used by keyboard alone', async () => {
    const { origin, tracker } = await startGateway({ gateway: OPEN })
    tracker.connect('ann').track('room:1')
    const { page } = await openPage(browser)
    await page.goto(origin)
    await topicButton(page, 'room:1').waitFor()
    const reached: string[] = []
    for (let i = 0; i < 40 && reached.at(-1) !== 'Pause'; i++) {
      await page.keyboard.press('Tab')
      reached.push(
        await page.evaluate(() => {
          const at = document.activeElement as HTMLElement
          return at.id.startsWith('events-pause') ? 'Pause' : at.id || at.textContent
        })
      )
      if (reached.at(-1) === 'room:1' && reached.length < 20) {
        await page.keyboard.press('Enter')
        await see(page, '#member-rows tr', 'ann')
        await page.waitForFunction(() => document.activeElement?.id === 'topic-name')
      }
    }
    expect(reached).toEqual(
      expect.arrayContaining([
        'Skip to the content',
        'Replicas',
        'topic-filter',
        'room:1',
        'topic-close',
        'user-search',
        'ann',
        'events-show',
        'Pause'
      ])
    )
  })

  it.each(['light', 'dark'] as const)(
    'is readable for everybody, %s: labels, names, headings, contrast, no sideways scrolling from 360 px',
    async colorScheme => {
      const { origin, tracker } = await startGateway({ gateway: OPEN })
      await crowd(tracker)
      const { page } = await openPage(browser, { colorScheme, viewport: { width: 360, height: 800 } })
      await page.goto(origin)
      await topicButton(page, 'room:1').click()
      await page.locator('#member-rows tr').first().waitFor()
      await page.locator('#user-rows button').first().click()
      await see(page, '#user-why', 'is online')
      for (const width of [360, 720, 1280, 1440]) {
        await page.setViewportSize({ width, height: 800 })
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
        expect(await page.evaluate(faintTexts)).toEqual([])
      }
      expect(await page.evaluate(unnamed)).toEqual([])
    }
  )
})

/** As when another tab is looked at, which a browser without a screen does not do by itself. */
async function hide(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(hidden => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
    Object.defineProperty(document, 'visibilityState', { value: hidden ? 'hidden' : 'visible', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)
}

/** The replicas and the hash of each, in the order of their ids. */
async function hashes(page: Page): Promise<string> {
  const rows = await page
    .locator('#replica-rows tr')
    .evaluateAll(found => found.map(row => [...row.querySelectorAll('[title]')].map(each => each.getAttribute('title')).join(' ')))
  return rows.sort().join(', ')
}

async function crowd(tracker: Tracker): Promise<void> {
  for (let i = 0; i < 30; i++) {
    const connection = tracker.connect(`user:${i}`)
    for (let room = 0; room < 40; room++) {
      if ((i * room) % 7 !== 3) {
        connection.track(`room:${room}`, { status: 'here' })
      }
    }
  }
  for (let i = 0; i < 62; i++) {
    tracker.connect(`fan:${i}`).track('room:7')
  }
}

/** In the page: what has no name for those who cannot see it, or breaks the order of headings. */
function unnamed(): string[] {
  const faults: string[] = []
  const nameOf = (element: HTMLElement): string => {
    const labels = [...((element as HTMLInputElement).labels ?? [])].map(label => label.textContent)
    const by = (element.getAttribute('aria-labelledby') ?? '').split(' ').map(id => document.getElementById(id)?.textContent ?? '')
    return [
      ...labels,
      ...by,
      element.getAttribute('aria-label'),
      element.tagName === 'BUTTON' || element.tagName === 'A' ? element.textContent : ''
    ]
      .join('')
      .trim()
  }
  for (const element of document.querySelectorAll<HTMLElement>('input, select, button, a, section, nav, [role]')) {
    if (nameOf(element) === '') {
      faults.push(`no name: ${element.outerHTML.slice(0, 80)}`)
    }
  }
  for (const image of document.querySelectorAll('img:not([alt])')) {
    faults.push(`no alt: ${image.outerHTML}`)
  }
  for (const table of document.querySelectorAll('table')) {
    if (table.querySelector('caption') === null || table.querySelector('th:not([scope])') !== null) {
      faults.push(`table without caption or scope: ${table.outerHTML.slice(0, 80)}`)
    }
  }
  const levels = [...document.querySelectorAll('h1, h2, h3')].filter(each => each.checkVisibility()).map(each => Number(each.tagName[1]))
  if (levels.filter(level => level === 1).length !== 1 || levels.some((level, i) => level > (levels[i - 1] ?? 0) + 1)) {
    faults.push(`headings: ${levels.join()}`)
  }
  if (document.documentElement.lang !== 'en' || document.querySelectorAll('main').length !== 1) {
    faults.push('no language, or not one main')
  }
  if (new Set([...document.querySelectorAll('[id]')].map(({ id }) => id)).size !== document.querySelectorAll('[id]').length) {
    faults.push('an id twice')
  }
  return faults
}

/** In the page: texts whose contrast with what is behind them is below 4.5, as WCAG 2 counts it. */
function faintTexts(): string[] {
  const channels = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number)
  const luminance = ([r = 0, g = 0, b = 0]: number[]): number => {
    const linear = [r, g, b].map(value => value / 255).map(value => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    return 0.2126 * (linear[0] as number) + 0.7152 * (linear[1] as number) + 0.0722 * (linear[2] as number)
  }
  const backOf = (element: Element | null): number[] => {
    for (let at = element; at !== null; at = at.parentElement) {
      const back = channels(getComputedStyle(at).backgroundColor)
      if (back.length === 3 || (back[3] ?? 1) > 0) {
        return back
      }
    }
    return [255, 255, 255]
  }
  const faults = new Set<string>()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement as HTMLElement
    if (node.textContent?.trim() !== '' && element.checkVisibility() && element.closest('.skip, .unseen, noscript, option') === null) {
      const text = luminance(channels(getComputedStyle(element).color))
      const back = luminance(backOf(element))
      const ratio = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05)
      if (ratio < 4.5) {
        faults.add(`${ratio.toFixed(1)} ${element.tagName} ${node.textContent?.slice(0, 30)}`)
      }
    }
  }
  return [...faults]
}
