package app

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/opensearch"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/search"
)

// openSearch makes the service of search. Nodes that answer no calls have no index.
func (n *Node) openSearch(ctx context.Context) error {
	secret, err := n.accounts.Secret(ctx, "search pages")
	if err != nil {
		return err
	}
	deps := search.Deps{DB: n.db, Log: n.log, Chat: n.chat, Accounts: n.accounts, Posts: n.feed, Videos: n.videos, Likes: n.postLikes, Dir: n.dir.join(datadir.SearchDir), Audit: n.audit, Node: n.name, Secret: secret,
		IsCoordinator: n.isCoordinator, CPUTime: cpuTime, Processors: n.threads.processors, PacingAccepts: n.admission.pacing, Clock: n.clock, Logger: n.logger}
	deps.Weights = func() (w search.Weights) {
		w.Recency, w.Popularity, w.Preference = n.ranking.SearchWeights()
		return w
	}
	deps.Preferences = func(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]float64, error) {
		return n.ranking.Preferences(ctx, tx, reader, posts)
	}
	if n.config.Clustered() {
		deps.Bus = n.bus
	}
	if deps.Dictionary, err = n.dictionary(); err != nil {
		return err
	}
	switch {
	case n.sharedSearch():
		if deps.Shared, err = n.openSharedSearch(ctx); err != nil {
			return err
		}
	case n.config.AnswersCalls() || n.config.Has(config.RoleGateway):
		deps.Open = n.openIndex
	}
	n.search, err = search.New(ctx, deps, n.config.Search)
	return err
}

// sharedSearch reports whether all nodes search one index.
func (n *Node) sharedSearch() bool { return len(n.config.OpenSearch.URLs) > 0 && !n.config.Search.Off }

// openSharedSearch makes the index that all nodes search.
func (n *Node) openSharedSearch(ctx context.Context) (searchindex.Shared, error) {
	// Derived from a secret of the database, so that no two deployments use one index.
	secret, err := n.accounts.Secret(ctx, "search index")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(secret)
	set := n.config.OpenSearch.Cluster()
	set.Deployment, set.Calls, set.Logger = hex.EncodeToString(sum[:16]), n.outgoing, n.logger
	shared, err := opensearch.New(set)
	if err != nil {
		return nil, err
	}
	n.closers = append(n.closers, shared.Close)
	return shared, nil
}

// searchWork is the writing of the shared index, which one node does.
func (n *Node) searchWork() []cluster.Work {
	if !n.sharedSearch() {
		return nil
	}
	return []cluster.Work{{Kind: search.SharedWork, Parts: 1, Assigned: n.search.Assigned}}
}

// postLikes returns how many users like each of some posts.
func (n *Node) postLikes(ctx context.Context, tx *sql.Tx, posts []uint64) (map[uint64]uint64, error) {
	counts, err := n.counters.In(tx).Counts(ctx, counter.PostLikes, posts)
	likes := make(map[uint64]uint64, len(counts))
	for i, c := range counts {
		likes[posts[i]] = c
	}
	return likes, err
}

// onProfile is called in the transaction of a new user or name.
func (n *Node) onProfile(ctx context.Context, tx *sql.Tx, u id.User) error {
	return n.search.Changed(ctx, tx, search.ChangedUser, uint64(u))
}

// userErased notes for search that the messages of a user were erased.
func (n *Node) userErased(ctx context.Context, tx *sql.Tx, u id.User) error {
	return n.search.Changed(ctx, tx, search.ErasedAuthor, uint64(u))
}

// searchPost notes a changed post for search.
func (n *Node) searchPost(ctx context.Context, tx *sql.Tx, c feed.Change) error {
	return n.search.Changed(ctx, tx, search.ChangedPost, c.ID)
}

// searchVideo notes a changed video for search.
func (n *Node) searchVideo(ctx context.Context, tx *sql.Tx, video uint64) error {
	return n.search.Changed(ctx, tx, search.ChangedVideo, video)
}

// registerSearchMetrics registers the metrics of search.
func (n *Node) registerSearchMetrics() {
	flagOf := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	telemetry.Gauge(n.registry, "search_lag_seconds", "For how long the oldest message that the search index lacks has been waiting.", func() float64 { return n.search.State().Lag.Seconds() })
	telemetry.Gauge(n.registry, "search_waiting", "Conversations with messages that the search index lacks.", func() float64 { return float64(n.search.State().Waiting) })
	telemetry.Gauge(n.registry, "search_incomplete", "1 while the search index of this node is being built, and answers say that they are incomplete.", func() float64 { return flagOf(n.search.State().Incomplete) })
	telemetry.Gauge(n.registry, "search_rebuilding", "1 while the search index is built again beside the one that answers.", func() float64 { return flagOf(n.search.State().Rebuilding) })
	telemetry.Gauge(n.registry, "search_writer", "1 on the node that writes the search index that all nodes share, 0 on the others.", func() float64 { return flagOf(n.sharedSearch() && n.search.State().Writing) })
	telemetry.Count(n.registry, "search_restarts_total", "How often the process of the search index ended by itself, and was started again.", func() float64 { return float64(n.indexRestarts.Load()) })
	telemetry.Count(n.registry, "search_indexed_total", "Documents that were put into the search index.", func() float64 { return float64(n.search.State().Indexed) })
}

const searchHelp = `search rebuild builds the search index of a node again from the stores: while the server runs, which answers from the present index until the
new one is complete, or when it starts. It goes on after a crash. Each node of a cluster has an index of its own, unless opensearch.urls is set: then all
have one, and any of their data directories will do. When the server begins, the audit log gets an entry
with the user of the operating system who ran this command.
Exit codes: 0 if the rebuild is requested, 1 if not, 2 for an invalid command line.
`

// SearchMain is rialto search.
func SearchMain(args []string, out, errOut io.Writer) int {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h" || args[0] == "-help") {
		args = []string{"rebuild", "--help"}
	}
	if len(args) == 0 || args[0] != "rebuild" {
		return noCommand("rialto search", args, []string{"rebuild"}, "Usage: rialto search rebuild [--data DIRECTORY]\n\n"+searchHelp, errOut)
	}
	fs := flag.NewFlagSet("rialto search rebuild", flag.ContinueOnError)
	data := fs.String("data", commandline.DefaultData(), "data `directory` of the node")
	by := auditFlags{}
	by.add(fs)
	if code, ok := parse(fs, searchHelp, args[1:], out, errOut); !ok {
		return code
	}
	if wrong := by.check(); wrong != "" {
		fmt.Fprintf(errOut, "rialto search rebuild: %s\n", wrong)
		return 2
	}
	if err := search.RequestRebuild(filepath.Join(*data, datadir.SearchDir), search.RebuildRequest{Who: by.who(), Reason: by.reason}); err != nil {
		fmt.Fprintln(errOut, "rialto search rebuild:", err)
		return 1
	}
	fmt.Fprintln(out, "The search index is built again: now if the server runs, or when it starts. The metric rialto_search_rebuilding is 0 when it is done.")
	return 0
}
