package config

import (
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/searchindex/opensearch"
)

// Bus is how the nodes of a cluster reach each other; without a cluster none of it is used.
type Bus struct {
	// Listen is the address where other nodes reach this one; default is the host of listen, and a free port. Nodes find each
	// other's addresses in the database.
	Listen string `yaml:"listen"`
	// Advertise is the address that other nodes get, such as 10.0.0.5:7072, if it differs from bus.listen. The default is bus.listen, or,
	// if that is all of the machine's addresses, the one by which this node reaches the database.
	Advertise string `yaml:"advertise"`
	// URL of an external NATS server, or several, separated by commas, as nats://user:password@host:4222; tls:// is with TLS.
	// Default none: each node has an embedded server. These connect to each other by mutual TLS, with certificates that they create.
	URL string `yaml:"url"`
	// Credentials is a file with a user's JWT and seed, if the external server requires it.
	Credentials string `yaml:"credentials"`
	// CA is a file with the certificates that sign the external server's; default are the system's.
	CA string `yaml:"ca"`
	// Prefix of all subjects on an external server, so that it can serve others too; default rialto.
	Prefix string `yaml:"prefix"`
}

// Cassandra stores the timelines if it is set, instead of PostgreSQL.
type Cassandra struct {
	// Hosts are addresses of some nodes; the others are discovered. Default none: timelines are in the same engine as the database.
	Hosts []string `yaml:"hosts"`
	// Port of all nodes; 0 is 9042.
	Port int `yaml:"port"`
	// User, if the cluster requires one.
	User string `yaml:"user"`
	// Password of the user.
	Password string `yaml:"password"`
	// Keyspace of the tables, created if it is missing; default rialto.
	Keyspace string `yaml:"keyspace"`
	// Replicas of each row if a node creates the keyspace; 0 is 3.
	Replicas int `yaml:"replicas"`
	// Store: deployments with different numbers share a keyspace and nothing else.
	Store int `yaml:"store"`
	// PeriodicSync accepts a cluster that acknowledges before its commit log is synced: a power failure of several machines at once then
	// loses the acknowledged writes of the last seconds. Default false: such a cluster is refused.
	PeriodicSync bool `yaml:"periodic_sync"`
}

// S3 stores the files if it is set, instead of the data directory.
type S3 struct {
	// Endpoint is the server's URL, as https://s3.eu-central-1.amazonaws.com; default none: files are in the data directory.
	Endpoint string `yaml:"endpoint"`
	// Region of the bucket; default us-east-1, which most servers other than Amazon's accept.
	Region string `yaml:"region"`
	// Bucket that exists already.
	Bucket string `yaml:"bucket"`
	// Prefix before each key, as rialto/files: the bucket may hold other things. Default none.
	Prefix string `yaml:"prefix"`
	// AccessKey and SecretKey: without them, from AWS_ACCESS_KEY_ID and so on, ~/.aws/credentials, or the role of the machine.
	AccessKey string `yaml:"access_key"`
	// SecretKey that belongs to the access key.
	SecretKey string `yaml:"secret_key"`
	// CA is a file with the certificates that sign the server's; default are the system's.
	CA string `yaml:"ca"`
	// Cache is how many bytes of files this node keeps in its data directory after it has read them; 0: none.
	Cache uint64 `yaml:"cache"`
}

// OpenSearch has one search index of all nodes if it is set, instead of one in each data directory.
type OpenSearch struct {
	// URLs of servers of one cluster, as https://search1:9200; http:// is for this machine only. Default none: each node has a search index of its own.
	URLs []string `yaml:"urls"`
	// Index is the name of the index, and the prefix of all names that are created in the cluster; default rialto. Deployments that share a cluster need different ones.
	Index string `yaml:"index"`
	// User, if the cluster requires one.
	User string `yaml:"user"`
	// Password of the user.
	Password string `yaml:"password"`
	// APIKey in place of a user.
	APIKey string `yaml:"api_key"`
	// CA is a file with the certificates that sign the servers'; default are the system's.
	CA string `yaml:"ca"`
	// Shards of newly created indexes; 0 is 1. More shards divide an index among servers: use one for each 30 GB.
	Shards int `yaml:"shards"`
	// Replicas of each shard of newly created indexes, on other servers than the shard itself: default 1. With one server, set 0.
	Replicas int `yaml:"replicas"`
}

// defaultReplicas is of opensearch.replicas, of which 0 is a value of its own.
const defaultReplicas = 1

// Cluster returns the configuration of the engine.
func (o OpenSearch) Cluster() opensearch.Config {
	return opensearch.Config{URLs: o.URLs, Name: o.Index, User: o.User, Password: o.Password, APIKey: o.APIKey, CA: o.CA, Shards: o.Shards, Replicas: o.Replicas}
}

// Roles of nodes.
const (
	RoleGateway = "gateway" // sockets
	RoleAPI     = "api"     // all calls, files and the web app
	RoleChat    = "chat"    // calls of conversations, a part of api
	RoleFeed    = "feed"    // calls of posts, a part of api
	RoleWorker  = "worker"  // fans out messages, and does the work that one node does at a time
	RoleEdge    = "edge"    // files from a cache, on a node of its own
)

var (
	// neededRoles are those that a cluster must have, each on a node at least.
	neededRoles = []string{RoleGateway, RoleAPI, RoleWorker}
	allRoles    = []string{RoleGateway, RoleAPI, RoleChat, RoleFeed, RoleWorker, RoleEdge}
)

// Has reports whether the node does what a role names.
func (c *Config) Has(role string) bool {
	switch {
	case role == RoleEdge:
		return c.IsEdge()
	case len(c.Roles) == 0, slices.Contains(c.Roles, role):
		return true
	}
	return isPartOfAPI(role) && slices.Contains(c.Roles, RoleAPI)
}

// isPartOfAPI reports whether a node with the role api does what a role names, too.
func isPartOfAPI(role string) bool { return role == RoleChat || role == RoleFeed }

// AnswersCalls reports whether the node answers calls by HTTP, at least those of conversations or those of posts.
func (c *Config) AnswersCalls() bool { return c.Has(RoleChat) || c.Has(RoleFeed) }

// AllRoles returns the roles that the node has, without those that are a part of another one of it.
func (c *Config) AllRoles() []string {
	return slices.DeleteFunc(slices.Clone(allRoles), func(role string) bool {
		return !c.Has(role) || isPartOfAPI(role) && c.Has(RoleAPI)
	})
}

// IsEdge reports whether the node has no database, and serves files from copies.
func (c *Config) IsEdge() bool { return slices.Contains(c.Roles, RoleEdge) }

// checkEdge finds what cannot be among the settings of an edge, and of the nodes that serve it.
func (c *Config) checkEdge(fault func(format string, args ...any)) {
	if !c.IsEdge() {
		if len(c.Edge.Origins) > 0 {
			fault("edge.origins: only an edge has them; set roles to edge, or leave the setting empty")
		}
		return
	}
	if len(c.Roles) > 1 {
		fault("roles: an edge has no database, so it has no other role than edge")
	}
	if c.Postgres != "" || c.S3.Endpoint != "" {
		fault("roles: an edge has no database, and no S3: leave out postgres and s3, and set edge.origins")
	}
	if len(c.Edge.Origins) == 0 || c.Edge.Secret == "" {
		fault("roles: an edge needs edge.origins, the addresses of nodes with the role api, and edge.secret, which those nodes have too")
	}
}

// Clustered reports whether the node may be one of several: other machines can reach its database.
func (c *Config) Clustered() bool { return c.Postgres != "" }

// checkEngines finds what cannot be among the addresses of engines.
func (c *Config) checkEngines(fault func(format string, args ...any)) {
	if c.Node != "" && (!bus.ValidSubject(c.Node) || strings.Contains(c.Node, ".")) {
		fault("node: %q has other characters than letters, digits, - and _", c.Node)
	}
	for _, address := range append([]string{c.Postgres}, c.PostgresReplicas...) {
		if address != "" && !isPostgres(address) {
			fault("postgres: give the database's address as postgres://user@host/name?sslmode=verify-full") // without the value, which may have a password
		}
	}
	if c.Postgres == "" {
		for name, set := range map[string]bool{"postgres_replicas": len(c.PostgresReplicas) > 0, "cassandra.hosts": len(c.Cassandra.Hosts) > 0,
			"bus.url": c.Bus.URL != "", "bus.listen": c.Bus.Listen != "", "bus.advertise": c.Bus.Advertise != ""} {
			if set {
				fault("%s: it is for the nodes of a cluster, which share a database: set postgres as well", name)
			}
		}
		for _, r := range neededRoles {
			if !c.Has(r) && !c.IsEdge() {
				fault("roles: a node alone has all of them; to share them among nodes, set postgres as well")
				break
			}
		}
	} else if len(c.Roles) > 0 && c.S3.Endpoint == "" && c.AnswersCalls() != c.Has(RoleWorker) {
		fault("roles: worker, and api, chat and feed need the files, which are in one node's data directory; set s3 as well, or give a node worker and api")
	}
	for _, r := range c.Roles {
		if !slices.Contains(allRoles, r) {
			fault("roles: %q is none of %s", r, strings.Join(allRoles, ", "))
		}
	}
	c.checkEdge(fault)
	c.checkBus(fault)
	c.checkOpenSearch(fault)
	c.checkEncryption(fault)
	if age, err := c.Chat.ColdAge(); err == nil && age > 0 && c.Clustered() && c.S3.Endpoint == "" {
		fault("chat.cold_after: old messages go to the files, which all nodes must read: set s3.endpoint and s3.bucket, or leave it out")
	}
	if (c.S3.Endpoint == "") != (c.S3.Bucket == "") {
		fault("s3: give both s3.endpoint and s3.bucket, or neither")
	}
	if c.S3.Cache > 0 && c.S3.Endpoint == "" {
		fault("s3.cache: the files are in the data directory already; leave it out, or set s3.endpoint")
	}
	if (c.S3.AccessKey == "") != (c.S3.SecretKey == "") {
		fault("s3: give both s3.access_key and s3.secret_key, or neither")
	}
}

func (c *Config) checkOpenSearch(fault func(format string, args ...any)) {
	o := c.OpenSearch
	if len(o.URLs) == 0 && (o.Index != "" || o.User != "" || o.Password != "" || o.APIKey != "" || o.CA != "" || o.Shards != 0 || o.Replicas != defaultReplicas) {
		fault("opensearch: set opensearch.urls as well, or none of its settings")
		return
	}
	if err := o.Cluster().Check(); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fault("opensearch.%s", line)
		}
	}
}

func (c *Config) checkBus(fault func(format string, args ...any)) {
	b := c.Bus
	if b.URL != "" && (b.Listen != "" || b.Advertise != "") {
		fault("bus: bus.url is that of an external server; then bus.listen and bus.advertise must not be set")
	}
	if b.URL == "" && (b.Credentials != "" || b.CA != "") {
		fault("bus: bus.credentials and bus.ca are for an external server; set bus.url as well")
	}
	if b.Prefix != "" && !bus.ValidSubject(b.Prefix) {
		fault("bus.prefix: %q has other characters than letters, digits, -, _ and .", b.Prefix)
	}
	for name, address := range map[string]string{"bus.listen": b.Listen, "bus.advertise": b.Advertise} {
		if address == "" {
			continue
		}
		if _, err := reachable(address); err != nil {
			fault("%s: %w", name, err)
		}
	}
}
