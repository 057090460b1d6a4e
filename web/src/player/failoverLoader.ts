import type { HlsConfig, Loader, LoaderCallbacks, LoaderConfiguration, LoaderContext } from "hls.js";
import type { SignedAddresses } from "./addresses.js";

/** A loader of hls.js: each of its objects loads one file. */
export type LoaderClass = new (config: HlsConfig) => Loader<LoaderContext>;

/** An address that sends nothing for this time does not answer. hls.js waits longer for the first playlist only. */
const firstByteMs = 10_000;

/**
 * Makes loaders that go on elsewhere where an address does not answer in time, or fails with 5xx. replace returns where, other than at the origins that the file
 * was asked of; undefined: there is no other. A file is asked of each origin once, so edges that hang cannot send it in a circle. The last address gets the time
 * and the retries that hls.js gives to an only one.
 */
export function failoverLoader(Base: LoaderClass, addresses: SignedAddresses, replace: (url: string, tried: ReadonlySet<string>) => string | undefined): LoaderClass {
  return class extends Base {
    private readonly tried = new Set<string>();

    override load(context: LoaderContext, config: LoaderConfiguration, callbacks: LoaderCallbacks<LoaderContext>): void {
      context.url = addresses.newest(context.url);
      const { loadPolicy } = config;
      this.begin(context, { ...config, loadPolicy: { ...loadPolicy, maxTimeToFirstByteMs: Math.min(loadPolicy.maxTimeToFirstByteMs, firstByteMs), timeoutRetry: null } }, {
        ...callbacks,
        onTimeout: (...about) => {
          if (loadPolicy.timeoutRetry) this.begin(context, config, callbacks);
          else callbacks.onTimeout(...about);
        },
      });
    }

    /** Asks one address for the file, and then the others. callbacks are told of the last one's failure. */
    private begin(context: LoaderContext, config: LoaderConfiguration, callbacks: LoaderCallbacks<LoaderContext>): void {
      const goesOnElsewhere = (): boolean => {
        this.tried.add(new URL(context.url).origin);
        const other = replace(context.url, this.tried);
        if (other === undefined) return false;
        addresses.move(context.url, other);
        context.url = other;
        this.begin(context, config, callbacks);
        return true;
      };
      this.stats.loading.start = 0; // hls.js uses a loader once; this one begins again
      super.load(context, config, {
        ...callbacks,
        onError: (error, ...about) => {
          if (!((error.code === 0 || error.code >= 500) && goesOnElsewhere())) callbacks.onError(error, ...about);
        },
        onTimeout: (...about) => {
          if (!goesOnElsewhere()) callbacks.onTimeout(...about);
        },
      });
    }
  };
}
