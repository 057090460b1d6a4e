import type { DescMessage, DescMethodUnary, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";

export interface CallOptions {
  /** Cancels the call. It then fails with the code "canceled"; whether it took effect is not known. */
  signal?: AbortSignal | undefined;
  /** A browser goes on with the call after the page was left. Its request is small. */
  keepalive?: boolean | undefined;
  /** How long the server may wait before it answers, beside the time of other calls. */
  waitMs?: number | undefined;
  /** The address of the node that is called, before the path; "": the deployment's. */
  base?: string | undefined;
}

/** Invoke makes one call of the API. */
export type Invoke = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
  options?: CallOptions,
) => Promise<MessageShape<O>>;

/** The methods of a service as functions: api.chat.history({ conversation }). */
export type ServiceClient<S extends DescService> = {
  [M in keyof S["method"]]: S["method"][M] extends DescMethodUnary<infer I, infer O>
    ? (input: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : never;
};

export function serviceClient<S extends DescService>(service: S, invoke: Invoke): ServiceClient<S> {
  const client: Record<string, unknown> = {};
  for (const method of service.methods) {
    if (method.methodKind !== "unary") continue;
    client[method.localName] = (input: MessageInitShape<DescMessage>, options?: CallOptions) => invoke(method as DescMethodUnary, input, options);
  }
  return client as ServiceClient<S>;
}

export function methodPath(method: DescMethodUnary): string {
  return `/${method.parent.typeName}/${method.name}`;
}
