package cassandratest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// serves is what a node logs when clients can connect.
const serves = "Startup complete"

// keptLines is how many lines of a node's log are kept for failed tests.
const keptLines = 60

// node is a node of a cluster. One goroutine at a time calls its methods, except lastWords.
type node struct {
	cluster *Cluster
	host    string
	front   string // where clients and other nodes reach it
	token   int64
	dir     string

	pid   atomic.Int64
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is gone

	mu   sync.Mutex // guards said
	said []string   // the last lines of its log
}

// start runs the node and returns when it serves.
func (n *node) start(ctx context.Context) error {
	if err := n.configure(); err != nil {
		return err
	}
	n.cmd = exec.Command(n.cluster.java, n.arguments()...)
	n.cmd.Dir, n.cmd.Env = n.dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	n.cmd.SysProcAttr = attributes()
	log, err := n.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	n.cmd.Stderr = n.cmd.Stdout
	n.ended = make(chan struct{})
	started, ready := make(chan error, 1), make(chan struct{})
	go n.run(started, ready, log)
	if err := <-started; err != nil {
		return err
	}
	select {
	case <-ready:
		return nil
	case <-n.ended:
		return fmt.Errorf("the node of Cassandra on %s ended before it served:\n%s", n.host, n.lastWords())
	case <-ctx.Done():
		return errors.Join(ctx.Err(), n.kill(), fmt.Errorf("the node of Cassandra on %s did not serve in time:\n%s", n.host, n.lastWords()))
	}
}

// run starts the process, reads its log and waits for its end. It ends with the process.
func (n *node) run(started chan<- error, ready chan<- struct{}, log io.Reader) {
	// The process is signalled when the thread that started it ends, so this thread stays.
	runtime.LockOSThread()
	err := n.cmd.Start()
	if err != nil {
		close(n.ended)
		started <- err
		return
	}
	n.pid.Store(int64(n.cmd.Process.Pid))
	started <- nil
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		n.mu.Lock()
		n.said = append(n.said[max(0, len(n.said)-keptLines+1):], lines.Text())
		n.mu.Unlock()
		if ready != nil && strings.Contains(lines.Text(), serves) {
			close(ready)
			ready = nil
		}
	}
	_, _ = io.Copy(io.Discard, log) // a full pipe would block the node
	_ = n.cmd.Wait()                // it is killed, never stopped
	close(n.ended)
}

func (n *node) lastWords() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.said, "\n") + "\n"
}

// kill kills the node.
func (n *node) kill() error {
	if n.cmd == nil || n.cmd.Process == nil {
		return nil
	}
	err := n.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-n.ended
	return err
}

// configure writes the node's settings: those that docs/operating/cassandra.md requires, and small limits.
func (n *node) configure() error {
	settings := fmt.Sprintf(`cluster_name: rialto-test
num_tokens: 1
initial_token: %d
auto_bootstrap: false
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
seed_provider: [{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: "%s"}]}]
listen_address: %s
broadcast_address: %s
rpc_address: %s
broadcast_rpc_address: %s
native_transport_port: %d
storage_port: %d
endpoint_snitch: SimpleSnitch
data_file_directories: [data]
commitlog_directory: commitlog
saved_caches_directory: caches
hints_directory: hints
cdc_raw_directory: cdc
%s
paxos_variant: v2
commitlog_segment_size: 8MiB
commitlog_total_space: 64MiB
memtable_heap_space: 48MiB
file_cache_enabled: false
networking_cache_size: 16MiB
key_cache_size: 4MiB
row_cache_size: 0MiB
counter_cache_size: 0MiB
concurrent_reads: 16
concurrent_writes: 64
concurrent_compactors: 1
read_request_timeout: 5s
write_request_timeout: 5s
cas_contention_timeout: 5s
auto_snapshot: false
`, n.token, n.seeds(), n.host, n.front, n.host, n.front, n.cluster.Port, n.cluster.StoragePort, n.cluster.sync)
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(n.dir, "cassandra.yaml"), []byte(settings), 0o644),
		os.WriteFile(filepath.Join(n.dir, "logback.xml"), []byte(logging), 0o644))
}

const logging = `<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder>
<pattern>%level %d{HH:mm:ss.SSS} %logger{0} %msg%n%ex{3}</pattern></encoder></appender>
<logger name="org.apache.cassandra.service.CassandraDaemon" level="INFO"/><root level="WARN"><appender-ref ref="out"/></root></configuration>
`

// arguments of java: the fast compiler, because a node lives for minutes. The exported and opened packages are those of Cassandra's own
// start script on Java 17.
func (n *node) arguments() []string {
	agent, _ := filepath.Glob(filepath.Join(n.cluster.jars, "jamm-*.jar")) // the pattern is valid
	args := []string{
		"-Xms320m", "-Xmx320m", "-Xss384k", "-XX:MaxDirectMemorySize=96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError",
		"-Djava.net.preferIPv4Stack=true", "-Djava.security.manager=allow", "-Djdk.attach.allowAttachSelf=true", "-Dio.netty.tryReflectionSetAccessible=true",
		"-Djava.io.tmpdir=" + n.dir, "-Dcassandra.storagedir=" + n.dir,
		"-Dcassandra.config=file://" + n.dir + "/cassandra.yaml", "-Dlogback.configurationFile=file://" + n.dir + "/logback.xml",
		"-Dcassandra-foreground=yes", "-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=2000",
		"-Dcassandra.superuser_setup_delay_ms=0", "-Dcassandra.available_processors=2", "-Dcassandra.jmx.local.port=0",
	}
	for _, agent := range agent {
		args = append(args, "-javaagent:"+agent)
	}
	for _, p := range strings.Fields("java.base/jdk.internal.misc java.management/com.sun.jmx.remote.security java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.rmi/sun.rmi.transport.tcp java.base/java.lang.ref java.base/java.lang.reflect jdk.unsupported/sun.misc java.base/jdk.internal.ref java.base/sun.nio.ch") {
		args = append(args, "--add-exports", p+"=ALL-UNNAMED")
	}
	for _, p := range strings.Fields("java.base/java.lang.module java.base/jdk.internal.loader java.base/jdk.internal.ref java.base/jdk.internal.reflect java.base/jdk.internal.math java.base/jdk.internal.module java.base/jdk.internal.util.jar jdk.management/com.sun.management.internal java.base/sun.nio.ch java.base/java.io java.base/java.nio java.base/java.lang java.base/java.lang.reflect java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.atomic java.base/java.net java.base/jdk.internal.misc") {
		args = append(args, "--add-opens", p+"=ALL-UNNAMED")
	}
	return append(args, "-cp", filepath.Join(n.cluster.jars, "*"), "org.apache.cassandra.service.CassandraDaemon")
}

// all nodes are seeds, so that a slow node does not keep others from starting.
func (n *node) seeds() string {
	at := make([]string, len(n.cluster.Fronts))
	for i, h := range n.cluster.Fronts {
		at[i] = fmt.Sprintf("%s:%d", h, n.cluster.StoragePort)
	}
	return strings.Join(at, ",")
}
