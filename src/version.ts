import manifest from '../package.json' with { type: 'json' }

/** Version of this installation. */
export const VERSION: string = manifest.version
