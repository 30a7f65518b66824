import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { closeLater } from './close-all.ts'

/** The browser of the variable CHROMIUM, or the system's; undefined where there is none. */
export const CHROMIUM = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  path => path !== undefined && existsSync(path)
)

/** A page in a browser, and what it did. */
export interface OpenPage {
  readonly page: Page
  /** What the console said as an error or a warning, and what was thrown. */
  readonly troubles: readonly string[]
  /** The hosts of all requests, those of WebSockets included. */
  readonly hosts: ReadonlySet<string>
}

/** A browser of its own, which `closeAll` closes. */
export async function openBrowser(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM as string, args: ['--no-sandbox'] })
  closeLater(() => browser.close())
  return browser
}

/** A page in a context of its own: it shares no session with another. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
  const page = await context.newPage()
  const troubles: string[] = []
  const hosts = new Set<string>()
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') {
      troubles.push(message.text())
    }
  })
  page.on('pageerror', error => void troubles.push(String(error)))
  page.on('request', request => void hosts.add(new URL(request.url()).host))
  page.on('websocket', socket => void hosts.add(new URL(socket.url()).host))
  page.setDefaultTimeout(30_000)
  return { page, troubles, hosts }
}
