package cassandratest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/javatest"
)

// serves is what a node logs when clients can connect.
const serves = "Startup complete"

// node is a node of a cluster. One goroutine at a time calls its methods, except lastWords.
type node struct {
	cluster *Cluster
	host    string
	front   string // where clients and other nodes reach it
	token   int64
	dir     string

	process atomic.Pointer[javatest.Process] // nil: it was never started
}

// start runs the node and returns when it serves.
func (n *node) start(ctx context.Context) error {
	if err := n.configure(); err != nil {
		return err
	}
	cmd := exec.Command(n.cluster.java, n.arguments()...)
	cmd.Dir, cmd.Env = n.dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	ready := make(chan struct{})
	first := sync.OnceFunc(func() { close(ready) })
	process, err := javatest.Start(cmd, func(line string) {
		if strings.Contains(line, serves) {
			first()
		}
	})
	if err != nil {
		return err
	}
	n.process.Store(process)
	select {
	case <-ready:
		return nil
	case <-process.Ended:
		return fmt.Errorf("the node of Cassandra on %s ended before it served:\n%s", n.host, n.lastWords())
	case <-ctx.Done():
		return errors.Join(ctx.Err(), n.kill(), fmt.Errorf("the node of Cassandra on %s did not serve in time:\n%s", n.host, n.lastWords()))
	}
}

func (n *node) lastWords() string {
	p := n.process.Load()
	if p == nil {
		return ""
	}
	return p.LastLines()
}

// kill kills the node.
func (n *node) kill() error {
	p := n.process.Load()
	if p == nil {
		return nil
	}
	return p.Kill()
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
