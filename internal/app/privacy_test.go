package app

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// withoutUsers are the tables that have no data of users, or whose data of users are deleted without a participant, and why.
var withoutUsers = map[string]string{
	"audit_entries":              "what operators did: names of keys, and ids",
	"bans":                       "ids, which the groups' logs have as well",
	"cluster_events":             "ids, for ten minutes",
	"cluster_leases":             "nodes",
	"cluster_nodes":              "nodes",
	"cluster_protocol":           "nodes",
	"cluster_settings":           "nodes",
	"cold_conversations":         "which entries are packed; erased ones are packed again without contents",
	"canaries":                   "canaries of nodes",
	"cold_segments":              "likewise",
	"comment_counts":             "counts",
	"comment_rank_version":       "a number",
	"comment_ranks":              "order of comments",
	"comment_reply_counts":       "counts",
	"conversations":              "they belong to their members; ids of the two of a one-to-one conversation and of the creator",
	"counter_counts":             "counts",
	"counter_views":              "sketches, from which nobody can be told",
	"departments":                "they belong to organizations",
	"engagement_boards":          "popular posts",
	"engagement_marks":           "counts",
	"engagement_ranks":           "popular posts",
	"erased_identities":          "hashes with a key of the server",
	"erasures":                   "the reports of erasures: ids and numbers",
	"exports":                    "ids, sizes and times of exports, which are deleted with their files",
	"feed_hidings":               "what moderators did: ids and reasons",
	"feed_repost_counts":         "counts",
	"help_desks":                 "settings of the operator",
	"id_days":                    "the id service",
	"id_holders":                 "the id service",
	"id_primary":                 "the id service",
	"id_primary_tags":            "the id service",
	"id_redis":                   "the id service",
	"id_tags":                    "the id service",
	"idgen_pools":                "generators of ids",
	"jobs":                       "ids; those of codes have addresses, and are deleted with age",
	"id_section_leases":          "nodes",
	"idgen_leases":               "nodes",
	"job_periods":                "when periodic jobs ran",
	"outbox_leases":              "nodes",
	"message_transactions":       "keys of servers",
	"migrations":                 "the database",
	"moderation_word_lists":      "words of operators",
	"operator_keys":              "keys of operators",
	"organization_groups":        "they belong to organizations",
	"outbox":                     "events, until they are delivered",
	"quarantine":                 "positions of entries",
	"reconciliation_differences": "ids of what differs between stores",
	"reconciliation_rounds":      "where comparisons of stores are",
	"ranking_models":             "weights of features, and who stored them: keys of operators",
	"runtime_number_changes":     "what operators set",
	"runtime_numbers":            "what operators set",
	"runtime_switch_changes":     "what operators set",
	"runtime_switches":           "what operators set",
	"search_changes":             "ids, for a week",
	"search_shared":              "where the index is",
	"search_trims":               "a number",
	"secrets":                    "keys of the server",
	"store":                      "the data directory",
	"taken_tickets":              "hashes, for a minute",
	"transaction_kept":           "keys of servers",
	"transaction_webhooks":       "keys of servers",
	"video_watermarks":           "images of the operator",
}

// Each table is exported and erased by a participant, or has no data of users: a new table fails this test until somebody has decided.
func TestEachTableHasAParticipantOrNoDataOfUsers(t *testing.T) {
	n, _ := open(t, onPostgres(t)...)
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	if sqltest.OnPostgres() {
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'log\_%'`
	}
	rows, err := n.db.Read().QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	owners, names := map[string]string{}, map[string]bool{}
	for _, p := range n.participants() {
		if names[p.Name()] {
			t.Errorf("two participants are called %s", p.Name())
		}
		names[p.Name()] = true
		for _, table := range p.UserTables() {
			if owners[table] != "" {
				t.Errorf("%s and %s both have the table %s", owners[table], p.Name(), table)
			}
			if owners[table] = p.Name(); !slices.Contains(tables, table) {
				t.Errorf("%s names the table %s, which does not exist", p.Name(), table)
			}
		}
	}
	for _, table := range tables {
		switch reason := withoutUsers[table]; {
		case owners[table] == "" && reason == "":
			t.Errorf("the table %s belongs to no participant of exports and erasures (userdata.Table), and withoutUsers has no reason why it needs none", table)
		case owners[table] != "" && reason != "":
			t.Errorf("the table %s belongs to %s, and has a reason why it has no data of users: %s", table, owners[table], reason)
		}
	}
	if len(tables) < 100 {
		t.Errorf("only %d tables were found", len(tables))
	}
}

func onPostgres(t *testing.T) []string {
	if sqltest.OnPostgres() {
		return []string{"postgres=" + sqltest.Place(t)}
	}
	return nil
}
