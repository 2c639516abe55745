// What the tests use of Node, so that no package of types is needed.
declare module "node:test" {
  export default function test(name: string, run: () => void): void;
}
declare module "node:assert/strict" {
  interface Assert {
    equal(a: unknown, b: unknown, why?: string): void;
    deepEqual(a: unknown, b: unknown, why?: string): void;
    ok(v: unknown, why?: string): void;
    match(s: string, pattern: RegExp): void;
  }
  const assert: Assert;
  export default assert;
}
