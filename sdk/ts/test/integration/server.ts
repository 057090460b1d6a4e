import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A real server in a process of its own, on a directory of its own. */
export class Server {
  readonly dir = mkdtempSync(join(tmpdir(), "rialto-"));
  private process: ChildProcess | undefined;

  private constructor(
    private readonly binary: string,
    readonly port: number,
    private readonly settings: string[],
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  static async start(...settings: string[]): Promise<Server> {
    const binary = process.env["TEST_BINARY"];
    if (!binary) throw new Error("TEST_BINARY names no binary: run `make build`, and give its path");
    const server = new Server(binary, await freePort(), settings);
    await server.run();
    return server;
  }

  async run(): Promise<void> {
    const p = spawn(this.binary, ["serve", "--data", this.dir, "--listen", `127.0.0.1:${this.port}`, "--set", "log.level=warn", "--set", "account.who_may_add=everyone", "--set", `backup.directory=${this.dir}-backups`, ...this.settings.flatMap((s) => ["--set", s])], { stdio: ["ignore", "pipe", "inherit"] });
    this.process = p;
    await new Promise<void>((resolve, reject) => {
      p.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
      p.stdout!.once("data", () => resolve());
    });
    p.removeAllListeners("exit");
  }

  /** Ends the process at once, as a power failure of its machine would. */
  kill(): Promise<void> {
    const p = this.process!;
    const gone = new Promise<void>((resolve) => p.once("exit", () => resolve()));
    p.kill("SIGKILL");
    return gone;
  }

  /** Has the server, which runs, make a backup in a folder beside its directory. */
  backUp(): void {
    const key = this.command("admin", "key", "create", "--data", this.dir, "--name", "operator", "--role", "operator").trim();
    this.command("backup", "--url", `http://127.0.0.1:${this.port + 1}`, "--key", key, "--reason", "a test");
  }

  /** Replaces the directory of a server that was killed by its newest backup. */
  restore(): void {
    this.command("restore", "--from", `${this.dir}-backups`, "--data", `${this.dir}-restored`);
    rmSync(this.dir, { recursive: true, force: true });
    renameSync(`${this.dir}-restored`, this.dir);
  }

  private command(...args: string[]): string {
    return execFileSync(this.binary, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  async stop(): Promise<void> {
    await this.kill();
    for (const dir of [this.dir, `${this.dir}-backups`]) rmSync(dir, { recursive: true, force: true });
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const s = createServer();
    s.on("error", reject);
    s.listen(0, "127.0.0.1", () => {
      const { port } = s.address() as { port: number };
      s.close(() => resolve(port));
    });
  });
}
