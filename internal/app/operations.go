package app

import (
	"context"
	"database/sql"
	"maps"
	"net/http"
	"strings"

	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/runtimeswitch"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/interchange"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
	"github.com/rialto-im/rialto/internal/service/notification"
	"github.com/rialto-im/rialto/internal/service/operation"
	"github.com/rialto-im/rialto/internal/service/push"
	"github.com/rialto-im/rialto/internal/service/video"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/web"
)

// jobQueues are the queues of jobs on all nodes.
var jobQueues = []string{job.DefaultQueue, feed.Queue, notification.Queue, account.Queue, push.Queue, messagetransaction.Queue, video.Queue}

// openOperations makes the service of the operators' console.
func (n *Node) openOperations() {
	n.openBackups()
	n.operations = operation.New(operation.Deps{Jobs: n.jobs, Queues: jobQueues, Audit: n.audit, DB: n.db, Backups: n.backups, Reconciliation: n.reconciliation, Videos: n.videos, Metrics: n.registry, Self: n.describeWithEdges, Bus: n.bus, Node: n.name, Nodes: n.liveNodeNames,
		Clock: n.clock, Logger: n.logger})
	n.interchange = interchange.New(interchange.Deps{Accounts: n.accounts, Chat: n.chat, Feed: n.feed, Comments: n.comments, Engagement: n.engagement, Videos: n.videos, Media: n.media, Audit: n.audit, Clock: n.clock})
}

// auditSwitch adds the change of a runtime switch, or of a number such as a weight of the ranking, to the audit log.
func (n *Node) auditSwitch(ctx context.Context, tx *sql.Tx, name runtimeswitch.Name, before, after, by, reason string) error {
	return n.audit.Add(ctx, tx, auditlog.Entry{Who: by, Action: "switch.set", Subject: string(name), Before: before, After: after, Reason: reason})
}

// describe is what this node says of itself to operators.
func (n *Node) describe() *operationv1.NodeReport {
	b := telemetry.ThisBuild()
	r := &operationv1.NodeReport{Version: b.Version, Commit: b.Short(), StartedMs: n.startedMs, Leaving: n.leaving.Load(), Damaged: n.damaged(),
		Processors: uint32(n.threads.processors), Roles: n.config.AllRoles()}
	return r
}

// describeWithEdges is describe with the edges that report to this node.
func (n *Node) describeWithEdges() *operationv1.NodeReport {
	r := n.describe()
	r.Edges = n.edgeReports()
	return r
}

// consolePath is where the admin listener has the operators' console.
const consolePath = "/" + web.ConsoleFolder

// consolePolicy allows the console its own files and calls, and nothing else.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// console serves the operators' console: its page and its files, which hold no data. What the page shows, it gets by calls, with a key.
func console() http.Handler {
	dist, built := web.Files()
	files := map[string]*webFile{}
	if built {
		files = loadWebFiles(dist)
		maps.DeleteFunc(files, func(name string, _ *webFile) bool { return !strings.HasPrefix(name, web.ConsoleFolder) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setPageHeaders(w.Header(), consolePolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		name := strings.TrimPrefix(r.URL.Path, "/")
		if r.URL.Path == consolePath {
			name = web.ConsolePage
		}
		switch f := files[name]; {
		case f != nil:
			f.serve(w, r)
		case name == web.ConsolePage && !built:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(web.NotBuilt()) // the client may have gone
		default:
			http.NotFound(w, r)
		}
	})
}
