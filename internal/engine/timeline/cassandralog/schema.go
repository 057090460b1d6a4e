package cassandralog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/base/backoff"
)

// tables by name; docs/formats/cassandra.md explains their keys.
var tables = [][2]string{
	{"segments", `store int, kind tinyint, id bigint, segment bigint, part tinyint, seq bigint, tok blob,
		version bigint static, first bigint static, tail bigint static, counting bigint static, acl bigint static, head bigint static,
		size bigint static, voids bigint static, term bigint static, sealed boolean static,
		counted bigint, prev bigint, stamp bigint, payload blob, PRIMARY KEY ((store, kind, id, segment), part, seq, tok)`},
	{"roots", `store int, kind tinyint, id bigint, segment bigint, first bigint, PRIMARY KEY ((store, kind, id), segment)`},
	{"past_counters", `store int, id bigint, sender bigint, device bigint, counter bigint, PRIMARY KEY ((store, id), sender, device)`},
	{"past_authors", `store int, id bigint, author bigint, seq bigint, counted bigint, PRIMARY KEY ((store, id), author)`},
	{"records", `store int, part smallint, bucket bigint, seq bigint, tail bigint static, stamp bigint, refs blob, dropped set<bigint>,
		PRIMARY KEY ((store, part, bucket), seq)`},
	{"partitions", `store int, part smallint, term bigint, holder bigint, record bigint, PRIMARY KEY ((store, part))`},
	{"devices", `store int, sender bigint, device bigint, counter bigint, PRIMARY KEY ((store, sender), device)`},
	{"known", `store int, kind tinyint, bucket smallint, id bigint, PRIMARY KEY ((store, kind, bucket), id)`},
	{"meta", `store int PRIMARY KEY, format int, epoch int`},
}

// queryTimeout is the time in which Cassandra has to answer a statement.
const queryTimeout = 6 * time.Second

// connect opens a session on the keyspace, after creating missing tables and checking the settings. It also returns the session's policy,
// which the caller may watch.
func connect(ctx context.Context, o Options) (*gocql.Session, *circuitBreaker, error) {
	config := gocql.NewCluster(o.Hosts...)
	config.Port = o.Port
	config.Consistency, config.SerialConsistency = gocql.Quorum, gocql.Serial
	config.Timeout, config.ConnectTimeout = queryTimeout, queryTimeout
	config.RetryPolicy = &gocql.ExponentialBackoffRetryPolicy{NumRetries: 4, Min: 50 * time.Millisecond, Max: time.Second} // for repeatable statements
	config.MaxPreparedStmts = 2000
	config.NumConns = 4
	config.ReconnectInterval = 2 * time.Second
	// Replicas always in the same order: conditional writes to a partition conflict less if they use the same coordinator.
	config.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy(), gocql.DoNotShuffleReplicas())
	config.Logger = driverLogger{o.Logger}
	if o.User != "" {
		config.Authenticator = gocql.PasswordAuthenticator{Username: o.User, Password: o.Password}
	}
	if err := createTables(ctx, *config, o); err != nil {
		return nil, nil, err
	}
	policy := newCircuitBreaker(gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy(), gocql.DoNotShuffleReplicas())) // a policy belongs to one session
	config.PoolConfig.HostSelectionPolicy = policy
	config.Keyspace, config.QueryObserver = o.Keyspace, o.observer
	s, err := config.CreateSession()
	if err != nil {
		return nil, nil, err
	}
	if err := checkSettings(ctx, s, o); err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, policy, nil
}

func createTables(ctx context.Context, config gocql.ClusterConfig, o Options) error {
	if strings.Trim(o.Keyspace, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return fmt.Errorf("the keyspace %q: a name may have lower-case letters, digits and _", o.Keyspace)
	}
	s, err := config.CreateSession()
	if err != nil {
		return err
	}
	defer s.Close()
	var have int
	if err := s.Query(`SELECT count(*) FROM system_schema.tables WHERE keyspace_name = ?`, o.Keyspace).ScanContext(ctx, &have); err != nil {
		return err
	}
	if have >= len(tables) {
		return nil
	}
	if o.view {
		return fmt.Errorf("the keyspace %s lacks the tables: has a server run there?", o.Keyspace)
	}
	statements := []string{fmt.Sprintf(`CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': %d}`, o.Keyspace, o.Replicas)}
	for _, t := range tables {
		// Two nodes that create a table at the same time must create the same one, so its id is derived from its name.
		sum := sha256.Sum256([]byte(o.Keyspace + "/" + t[0]))
		id, err := gocql.UUIDFromBytes(sum[:16])
		if err != nil {
			return err
		}
		statements = append(statements, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s.%s (%s) WITH ID = %s`, o.Keyspace, t[0], t[1], id))
	}
	for _, statement := range statements {
		if err := createOne(ctx, s, statement); err != nil {
			return fmt.Errorf("creating the tables: %w", err)
		}
	}
	return s.AwaitSchemaAgreement(ctx)
}

// createOne creates a table or keyspace if it does not exist. It retries, because a node may not know yet what another one has created,
// for example when a cluster has just started.
func createOne(ctx context.Context, s *gocql.Session, statement string) error {
	for tries := 1; ; tries++ {
		err := s.Query(statement).ExecContext(ctx)
		if err == nil || tries == schemaTries || ctx.Err() != nil {
			return err
		}
		if agreed := s.AwaitSchemaAgreement(ctx); agreed != nil {
			return errors.Join(err, agreed)
		}
		if backoff.Sleep(ctx, time.Second) != nil {
			return err
		}
	}
}

// schemaTries is the number of attempts of a schema statement, a second apart.
const schemaTries = 20

// quorumTries is the number of attempts while too few replicas are up, a second apart.
const quorumTries = 20

// awaitQuorum calls do again while the coordinator considers too few replicas up. The nodes of a cluster that has just started find
// one another some seconds after they accept clients.
func awaitQuorum(ctx context.Context, do func(context.Context) error) error {
	for tries := 1; ; tries++ {
		err := do(ctx)
		var unavailable *gocql.RequestErrUnavailable
		if !errors.As(err, &unavailable) || tries == quorumTries || backoff.Sleep(ctx, time.Second) != nil {
			return err
		}
	}
}

// checkSettings rejects a node that acknowledges before its commit log is synced.
func checkSettings(ctx context.Context, s *gocql.Session, o Options) error {
	for _, host := range s.GetHosts() {
		if !host.IsUp() {
			o.Logger.Warn("a node of Cassandra is down: its settings are not checked", "host", host.ConnectAddress().String())
			continue
		}
		var value string
		err := s.Query(`SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'`).Consistency(gocql.One).SetHostID(host.HostID()).ScanContext(ctx, &value)
		if err == nil && (value == "batch" || value == "group") {
			continue
		}
		if o.AllowPeriodicSync {
			o.Logger.Warn("a node of Cassandra may acknowledge before its commit log is synced, which the settings allow", "host", host.ConnectAddress().String(), "commitlog_sync", value)
			continue
		}
		if err != nil {
			return fmt.Errorf("the node %s does not report its commitlog_sync; see docs/operating/cassandra.md: %w", host.ConnectAddress(), err)
		}
		return fmt.Errorf("the node %s has commitlog_sync: %s, so a power failure can lose acknowledged writes; set commitlog_sync: batch (or group) in its cassandra.yaml, or allow it with the setting cassandra.periodic_sync", host.ConnectAddress(), value)
	}
	return nil
}

// driverLogger writes the driver's log to slog. Its messages of level info report connections.
type driverLogger struct{ log *slog.Logger }

func (d driverLogger) write(level slog.Level, text string, fields []gocql.LogField) {
	if !d.log.Enabled(context.Background(), level) {
		return
	}
	args := make([]any, 0, 2+2*len(fields))
	args = append(args, "text", text)
	for _, f := range fields {
		args = append(args, f.Name, f.Value.String())
	}
	d.log.Log(context.Background(), level, "cassandra driver", args...)
}

func (d driverLogger) Error(text string, fields ...gocql.LogField) {
	d.write(slog.LevelWarn, text, fields)
}

func (d driverLogger) Warning(text string, fields ...gocql.LogField) {
	d.write(slog.LevelWarn, text, fields)
}

func (d driverLogger) Info(text string, fields ...gocql.LogField) {
	d.write(slog.LevelDebug, text, fields)
}

func (d driverLogger) Debug(text string, fields ...gocql.LogField) {
	d.write(slog.LevelDebug, text, fields)
}
