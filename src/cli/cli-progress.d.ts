/** The part of cli-progress that is used here; the package has no types of its own. */
declare module 'cli-progress' {
  export interface Options {
    readonly format: string
    readonly stream?: NodeJS.WriteStream
    readonly hideCursor?: boolean
    readonly clearOnComplete?: boolean
    readonly barsize?: number
    readonly linewrap?: boolean
    readonly forceRedraw?: boolean
    readonly gracefulExit?: boolean
  }
  export class SingleBar {
    constructor(options: Options)
    start(total: number, startValue: number, payload?: object): void
    update(value: number, payload?: object): void
    stop(): void
  }
}
