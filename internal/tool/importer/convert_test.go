package importer_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/tool/importer"
	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// now is when the samples are converted.
var now = time.UnixMilli(1_700_000_000_000)

// content of a converted export.
type content struct {
	*interchangefile.Reader
	users         map[string]interchangefile.User
	conversations map[string]interchangefile.Conversation
	entries       []interchangefile.Entry
	skipped       []interchangefile.Skipped
}

// zipOf writes a zip file with some files, by their names.
func zipOf(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		must(t, err)
		_, err = io.WriteString(w, text)
		must(t, err)
	}
	must(t, z.Close())
	name := filepath.Join(t.TempDir(), "export.zip")
	must(t, os.WriteFile(name, b.Bytes(), 0o600))
	return name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// convert converts an export, and reads what comes of it.
func convert(t *testing.T, format, path string) *content {
	t.Helper()
	dir := t.TempDir()
	must(t, importer.Convert(t.Context(), importer.Converters()[format], format, path, dir, now, 0))
	return read(t, dir)
}

func read(t *testing.T, dir string) *content {
	t.Helper()
	r, err := interchangefile.Open(dir)
	must(t, err)
	c := &content{Reader: r, users: map[string]interchangefile.User{}, conversations: map[string]interchangefile.Conversation{}}
	must(t, r.Users(func(u *interchangefile.User) error { c.users[u.ID] = *u; return nil }))
	must(t, r.Conversations(func(v *interchangefile.Conversation) error { c.conversations[v.ID] = *v; return nil }))
	must(t, r.Skipped(func(s *interchangefile.Skipped) error { c.skipped = append(c.skipped, *s); return nil }))
	entries, err := r.Entries(0)
	must(t, err)
	defer entries.Close()
	for {
		var e interchangefile.Entry
		err := entries.Decode(&e)
		if errors.Is(err, io.EOF) {
			return c
		}
		must(t, err)
		c.entries = append(c.entries, e)
	}
}

// lines of the entries of a conversation: kind, sender, target, and what they say.
func (c *content) lines(conversation string) (list []string) {
	for i := range c.entries {
		if e := &c.entries[i]; e.Conversation == conversation {
			text := e.Text + e.Emoji
			for _, f := range e.Files {
				text += f.Name + "|" + f.Caption
			}
			if e.Data != nil {
				text += e.Data.Type
			}
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s>%s %s", e.Kind, e.Sender, e.Target, text)))
		}
	}
	return list
}

func (c *content) reasons(kind string) (list []string) {
	for _, s := range c.skipped {
		if s.Kind == kind {
			list = append(list, s.Where+": "+s.Reason)
		}
	}
	return list
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// matches checks each reason against a part of it.
func matches(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %q, want %q", what, got, want)
		return
	}
	for i := range got {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%s: %q, want %q in it", what, got[i], want[i])
		}
	}
}

// slackExport has each feature, and each fault, once.
func slackExport() map[string]string {
	return map[string]string{
		"users.json":    `[{"id":"U1","name":"ann-lee","profile":{"display_name":"Ann"}},{"id":"U2","name":"bob"},{"id":"U2","name":"again"},{"id":7}]`,
		"channels.json": `[{"id":"C1","name":"general","creator":"U1","created":1600000000,"members":["U1","U2","U9"]}]`,
		"dms.json":      `[{"id":"D1","created":1600000000,"members":["U1","U2"]}]`,
		"general/2020-09-13.json": `[
			{"type":"message","user":"U1","text":"Hi <@U2>, see <https://a.example|this> &amp; <#C1|general>","ts":"1600000001.000100","reactions":[{"name":"+1","users":["U2"],"count":3},{"name":"huge","count":4000000000000000000}]},
			{"type":"message","user":"U2","text":"root","ts":"1600000002.000100","thread_ts":"1600000002.000100","reply_count":1,"reply_users":["U1"],"edited":{"user":"U2","ts":"1600000009.000000"}},
			{"type":"message","subtype":"channel_join","user":"U2","text":"joined","ts":"1600000002.500000"},
			{"type":"message","user":"U1","text":"reply","ts":"1600000003.000100","thread_ts":"1600000002.000100"},
			{"type":"message","user":"U1","text":"of no root","ts":"1600000004.000100","thread_ts":"1500000000.000100"},
			{"type":"message","subtype":"bot_message","bot_id":"B1","username":"build","text":"","attachments":[{"fallback":"built"}],"ts":"1600000005.000100"},
			{"type":"message","user":"U9","text":"look","ts":"1600000006.000100","files":[{"id":"F1","name":"a.png","mimetype":"image/png"},{"id":"F2","name":"b.txt","mimetype":"text/plain"}]}]`,
		"general/2020-09-14.json": `[
			{"type":"message","user":"U1","text":"of the year 2099","ts":"4070908800.000100"},
			{"type":"message","user":"U1","text":"of no time","ts":"x"},
			{"type":"message","user":"U1","text":"twice","ts":"1600100000.000100"},
			{"type":"message","user":"U1","text":"twice","ts":"1600100000.000100"},
			{"type":"message","text":"of nobody","ts":"1600100001.000100"},
			{"type":"message","user":"U1","text":"` + strings.Repeat("x", 100_001) + `","ts":"1600100002.000100"},
			{"type":"message","user":"U1","text":"before the fault","ts":"1600100003.000100"}, {"type": broken`,
		"unknown/2020-09-13.json": `[{"type":"message","user":"U1","text":"lost","ts":"1600000001.000100"}]`,
		"D1/2020-09-13.json":      "[{\"type\":\"message\",\"user\":\"U2\",\"text\":\"bad \xff byte\",\"ts\":\"1600000001.000100\"}]",
		"__uploads/F1/a.png":      "a picture",
		"../outside.json":         `[]`,
		"general/2020-09-15.json": strings.Repeat(" ", 17<<20) + `[]`, // a bomb
	}
}

// TestSlack: each feature of an export of Slack is carried, and what is wrong in it is named.
func TestSlack(t *testing.T) {
	c := convert(t, "slack", zipOf(t, slackExport()))
	if u := c.users["U1"]; u.Name != "Ann" || u.Handle != "ann_lee" || c.users["U9"].Name != "Unknown U9" || c.users["bot:B1"].Name != "build" {
		t.Errorf("users: %v", c.users)
	}
	if g := c.conversations["C1"]; g.Kind != interchangefile.Group || g.Title != "general" || g.Owner != "U1" || !slices.Equal(g.Members, []string{"U2", "U9"}) || g.JoinPolicy != "open" || g.CreatedMs != 1_600_000_000_000 {
		t.Errorf("the channel is %+v", g)
	}
	equal(t, "channel", c.lines("C1"), []string{
		"text U1> Hi @U2, see this (https://a.example) & #general", "reaction U2>1600000001.000100 👍",
		"text U2> root", "thread U1>1600000002.000100",
		"text U1> of no root", "text bot:B1> built", "image U9> a.png|", "text U9> look\n[b.txt]",
		"edit U2>1600000002.000100 root",
		"text U1> twice", "file U1> message.txt|" + strings.Repeat("x", 500) + "…", "text U1> before the fault"})
	equal(t, "thread", c.lines("C1:1600000002.000100"), []string{"text U1> reply"})
	equal(t, "one-to-one", c.lines("D1"), []string{"text U2> bad \uFFFD byte"})
	if m := c.entries[0].Mentions; len(m) != 1 || m[0] != (interchangefile.Mention{Start: 3, Length: 3, User: "U2"}) || c.entries[0].TimeMs != 1_600_000_001_000 {
		t.Errorf("the mentions are %v at %d", m, c.entries[0].TimeMs)
	}
	if th := c.conversations["C1:1600000002.000100"]; th.Parent != "C1" || th.Root != "1600000002.000100" || th.Owner != "U1" {
		t.Errorf("the thread is %+v", th)
	}
	matches(t, "skipped users", c.reasons("user"), "U2: another user has the same id", "element 4: json")
	matches(t, "skipped files", c.reasons("file"), "../outside.json: its path leads out", "its bytes are not in the export, only its address: F2")
	matches(t, "skipped reactions", c.reasons("reaction"), "does not name their users: 2 × +1", "does not name their users: 1000000 × huge")
	if n := c.Manifest.Skipped["reaction"]; n != 1_000_002 {
		t.Errorf("%d reactions are skipped", n)
	}
	matches(t, "skipped messages", c.reasons("message"), "Slack wrote it: channel_join", "its time is no time in the past: 4070908800000", "its time is no time in the past: 0", "it has no sender",
		"element 8: it cannot be read", "general/2020-09-15.json: it is compressed so far", "unknown/2020-09-13.json: element 1: no list of channels", "another entry has the same id")
	if got := c.Manifest.Counts; got.Users != 4 || got.Conversations != 3 || got.Memberships != 5 || got.Messages != 11 || got.Reactions != 1 || got.Files != 2 {
		t.Errorf("counts: %+v", got)
	}
}

const mattermostExport = `{"type":"version","version":1}
{"type":"channel","channel":{"team":"t","name":"town","display_name":"Town Square","type":"O"}}
{"type":"channel","channel":{"team":"t","name":"empty","type":"P"}}
{"type":"user","user":{"username":"ann","nickname":"Ann","teams":[{"name":"t","channels":[{"name":"town","roles":"channel_user"}]}]}}
{"type":"user","user":{"username":"bob","first_name":"Bob","last_name":"Lee","teams":[{"name":"t","channels":[{"name":"town","roles":"channel_user channel_admin"}]}]}}
{"type":"post","post":{"team":"t","channel":"town","user":"ann","message":"later","create_at":1600000005000}}
{"type":"post","post":{"team":"t","channel":"town","user":"bob","message":"hello","create_at":1600000001000,"edit_at":1600000002000,"is_pinned":true,"reactions":[{"user":"ann","create_at":1600000003000,"emoji_name":"party_parrot"}],"replies":[{"user":"ann","message":"reply","create_at":1600000004000}]}}
{"type":"post","post":{"team":"t","channel":"town","user":"ann","message":"a file","create_at":1600000006000,"attachments":[{"path":"x/a.txt"}]}}
{"type":"post","post":{"team":"t","channel":"town","user":"ann","message":"gone","create_at":1600000007000,"attachments":[{"path":"../../etc/passwd"}]}}
{"type":"post","post":{"team":"t","channel":"nowhere","user":"ann","message":"lost","create_at":1600000001000,"replies":[{"user":"ann","message":"lost, too","create_at":1600000004000}]}}
{"type":"post","post":{"team":"t","channel":"town","user":"ann","type":"system_join_channel","message":"joined","create_at":1600000001000}}
{"type":"post", broken
{"type":"direct_channel","direct_channel":{"members":["ann","bob"]}}
{"type":"direct_post","direct_post":{"channel_members":["bob","ann"],"user":"ann","message":"hi","create_at":1600000001000,"reactions":[{"user":"carl","create_at":1600000003000,"emoji_name":"+1"}],"replies":[{"user":"bob","message":"you","create_at":1600000002000},{"user":"carl","message":"me, too","create_at":1600000003000}]}}
{"type":"direct_post","direct_post":{"channel_members":["bob","ann"],"user":"carl","message":"I am neither","create_at":1600000004000,"replies":[{"user":"ann","message":"gone","create_at":1600000005000}]}}
{"type":"direct_post","direct_post":{"channel_members":["ann:bob"],"user":"ann:bob","message":"to myself","create_at":1600000001000}}
`

// TestMattermost: likewise of Mattermost. Posts are in the order of their times, whatever that of the lines.
func TestMattermost(t *testing.T) {
	c := convert(t, "mattermost", zipOf(t, map[string]string{"import.jsonl": mattermostExport, "data/x/a.txt": "text"}))
	if g := c.conversations["t/town"]; g.Owner != "bob" || !slices.Equal(g.Members, []string{"ann"}) || g.Title != "Town Square" || c.users["bob"].Name != "Bob Lee" {
		t.Errorf("the channel is %+v, the users %v", g, c.users)
	}
	got := c.lines("t/town")
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], rootOf(c), "ROOT")
	}
	equal(t, "channel", got, []string{"text bob> hello", "pin bob>ROOT", "edit bob>ROOT hello", "reaction ann>ROOT :party_parrot:", "thread ann>ROOT", "text ann> later", "file ann> a.txt|a file", "text ann> gone\n[passwd]"})
	equal(t, "thread", c.lines("t/town:"+rootOf(c)), []string{"text ann> reply"})
	equal(t, "one-to-one", c.lines(`direct:["ann" "bob"]`), []string{"text ann> hi", "thread bob>" + hiOf(c)})
	equal(t, "thread of it", c.lines(`direct:["ann" "bob"]:`+hiOf(c)), []string{"text bob> you"})
	equal(t, "of one user", c.lines(`direct:["ann:bob"]`), []string{"text ann:bob> to myself"})
	neither := "neither of the two users of the conversation: carl"
	matches(t, "skipped reactions", c.reasons("reaction"), neither)
	matches(t, "skipped messages", c.reasons("message"), "its conversation is unknown: t/nowhere", "its conversation is unknown: t/nowhere", "Mattermost wrote it", "import.jsonl:12: invalid character", neither, neither)
	if n := c.Manifest.Skipped["message"]; n != 7 {
		t.Errorf("%d messages are skipped", n)
	}
	matches(t, "skipped conversations", c.reasons("conversation"), "it has no members: t/empty")
	matches(t, "skipped files", c.reasons("file"), "its path leads out")
}

// TestMattermostReadsNoFilesBesideTheExport: a file of JSON lines alone is in a directory that may have other files, whose names it may guess.
func TestMattermostReadsNoFilesBesideTheExport(t *testing.T) {
	dir := t.TempDir()
	export := mattermostExport
	for _, name := range []string{"key.txt", "data/.key", "../key.txt"} {
		export += `{"type":"direct_post","direct_post":{"channel_members":["bob","ann"],"user":"ann","message":"m","create_at":1600000009000,"attachments":[{"path":"` + name + `"}]}}` + "\n"
	}
	for name, text := range map[string]string{"export.jsonl": export, "key.txt": "secret", "data/.key": "secret", "data/x/a.txt": "text"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	c := convert(t, "mattermost", filepath.Join(dir, "export.jsonl"))
	var files []string
	for _, e := range c.entries {
		for _, f := range e.Files {
			files = append(files, f.Name)
		}
	}
	equal(t, "files", files, []string{"a.txt"})
	matches(t, "skipped files", c.reasons("file"), "its path leads out", "not in the export: key.txt", "not in the export: data/.key", "its path leads out")
}

func rootOf(c *content) string { return c.entries[0].ID }

// hiOf returns the id of the message "hi".
func hiOf(c *content) string {
	return c.entries[slices.IndexFunc(c.entries, func(e interchangefile.Entry) bool { return e.Text == "hi" })].ID
}

// TestOpenIM: likewise of the collections of OpenIM.
func TestOpenIM(t *testing.T) {
	block := func(msgs ...string) string { return `{"doc_id":"d:0","msgs":[` + strings.Join(msgs, ",") + "]}\n" }
	msg := func(session, kind int, id, from, to, group, text, more string) string {
		return fmt.Sprintf(`{"msg":{"send_id":%q,"recv_id":%q,"group_id":%q,"client_msg_id":%q,"session_type":%d,"content_type":%d,"content":%q,"send_time":{"$numberLong":"1600000001000"}}%s}`, from, to, group, id, session, kind, text, more)
	}
	c := convert(t, "openim", zipOf(t, map[string]string{
		"user.json":         `{"user_id":"u1","nickname":"Ann"}` + "\n" + `{"user_id":"u2"}` + "\n\n{\"user_id\":\n",
		"group.json":        `{"group_id":"g","group_name":"Group","creator_user_id":"u1","create_time":{"$date":"2020-09-13T12:26:40Z"}}` + "\n",
		"group_member.json": `{"group_id":"g","user_id":"u2","role_level":100}` + "\n" + `{"group_id":"g","user_id":"u1","role_level":{"$numberInt":"60"}}` + "\n",
		"msg.json": block(msg(3, 101, "m1", "u1", "", "g", `{"content":"hello"}`, ""), msg(3, 114, "m2", "u2", "", "g", `{"text":"answer","quoteMessage":{"clientMsgID":"m1"}}`, ""), `{"msg":null}`,
			msg(3, 102, "m3", "u1", "", "g", `{"sourcePicture":{"url":"http://f/1"}}`, ""), msg(3, 1501, "m4", "u1", "", "g", `{}`, ""), msg(3, 110, "m5", "u1", "", "g", `{"data":"x"}`, "")) +
			block(msg(1, 101, "m6", "u2", "u1", "", `{"content":"secret"}`, `,"revoke":{"user_id":"u2","time":1}`), msg(3, 101, "m7", "u1", "", "unknown", `{"content":"lost"}`, "")),
		"friend.json": `{"owner_user_id":"u1","friend_user_id":"u2","remark":"Second"}` + "\n" + `{"owner_user_id":"u2","friend_user_id":"u1"}` + "\n" + `{"owner_user_id":"u1","friend_user_id":"u3"}` + "\n",
		"black.json":  `{"owner_user_id":"u2","block_user_id":"u1"}` + "\n" + `{"owner_user_id":"u2","block_user_id":"gone"}` + "\n",
	}))
	relations := []string{}
	must(t, c.Relations(func(r *interchangefile.Relation) error {
		relations = append(relations, fmt.Sprintf("%+v", *r))
		return nil
	}))
	equal(t, "relations", relations, []string{fmt.Sprintf("%+v", interchangefile.Relation{Owner: "u2", Other: "u1", Blocked: true}),
		fmt.Sprintf("%+v", interchangefile.Relation{Owner: "u1", Other: "u2", Friend: true, Remark: "Second"}), fmt.Sprintf("%+v", interchangefile.Relation{Owner: "u2", Other: "u1", Friend: true})})
	matches(t, "skipped relations", c.reasons("relation"), "black.json:2: it is not of two users of the export: u2 gone", "friend.json:3: the other one has removed the friend: u3")
	if n := c.Manifest.Counts.Relations; n != 3 {
		t.Errorf("%d relations are counted", n)
	}
	equal(t, "group", c.lines("sg_g"), []string{"role u2>", "text u1> hello", "text u2>m1 answer", "text u1> [picture] http://f/1", "custom u1> openim/110"})
	equal(t, "one-to-one", c.lines(`direct:["u1" "u2"]`), []string{"recalled u2>"})
	if g := c.conversations["sg_g"]; g.Owner != "u2" || !slices.Equal(g.Members, []string{"u1"}) || g.CreatedMs != 1_600_000_000_000 {
		t.Errorf("the group is %+v", g)
	}
	matches(t, "skipped users", c.reasons("user"), "user.json:4: unexpected end")
	matches(t, "skipped messages", c.reasons("message"), "OpenIM wrote it: content type 1501", "its conversation is unknown: sg_unknown")
	matches(t, "skipped files", c.reasons("file"), "its bytes are not in the export")
}

// TestWuKongIM: likewise of the answers of WuKongIM's API.
func TestWuKongIM(t *testing.T) {
	msg := func(id, kind, payload string) string {
		return fmt.Sprintf(`{"message_id":%s,"client_msg_no":"n","message_seq":1,"from_uid":"u1","channel_id":"g","channel_type":%s,"timestamp":1600000001,"payload":%q}`, id, kind, base64.StdEncoding.EncodeToString([]byte(payload))) + "\n"
	}
	c := convert(t, "wukongim", zipOf(t, map[string]string{
		"users.jsonl":    `{"uid":"u1","name":"Ann"}` + "\n",
		"channels.jsonl": `{"channel_id":"g","channel_type":2,"subscribers":["u1","u2"]}` + "\n" + `{"channel_id":"s","channel_type":3}` + "\n",
		"messages.jsonl": msg("123456789012345678", "2", `{"type":1,"content":"hello"}`) + msg("2", "2", `{"type":2,"url":"http://f/1"}`) + msg("3", "2", `{"type":99}`) + msg("4", "2", "no json") +
			msg("5", "2", `{"type":7,"content":"a card"}`) + msg("6", "1", `{"type":1,"content":"to g"}`) + msg("7", "4", `{"type":1}`) +
			strings.Replace(msg("8", "1", `{"type":1,"content":"to both"}`), `"channel_id":"g"`, `"channel_id":"u1@u2@x"`, 1) +
			strings.Replace(msg("9", "1", `{"type":1,"content":"of neither"}`), `"channel_id":"g"`, `"channel_id":"u2@u3"`, 1),
	}))
	equal(t, "group", c.lines("group:g"), []string{"text u1> hello", "text u1> [picture] http://f/1", "custom u1> wukongim/7"})
	equal(t, "one-to-one", c.lines(`direct:["g" "u1"]`), []string{"text u1> to g"})
	equal(t, "of both", c.lines(`direct:["u1" "u2@x"]`), []string{"text u1> to both"})
	if c.entries[0].ID != "123456789012345678" {
		t.Errorf("the id is %s", c.entries[0].ID)
	}
	matches(t, "skipped messages", c.reasons("message"), "for programs: type 99", "payload is no JSON", "channels of type 4", "neither of the two users of the conversation: u1")
	matches(t, "skipped conversations", c.reasons("conversation"), "channels of type 3")
}

// TestAConversionThatEndsIsNoImport: a directory without a manifest is refused, one that was changed, too, and a conversion does not overwrite another.
func TestAConversionThatEndsIsNoImport(t *testing.T) {
	dir, export := t.TempDir(), zipOf(t, slackExport())
	w, err := interchangefile.Create(t.Context(), dir, "slack", now)
	must(t, err)
	must(t, importer.Slack(w, export))
	if _, err := interchangefile.Open(dir); !errors.Is(err, interchangefile.ErrNoManifest) {
		t.Errorf("a conversion that is not complete: %v", err)
	}
	must(t, importer.Convert(t.Context(), importer.Slack, "slack", export, dir, now, 0))
	if err := importer.Convert(t.Context(), importer.Slack, "slack", export, dir, now, 0); err == nil {
		t.Error("a complete conversion was overwritten")
	}
	r, err := interchangefile.Open(dir)
	must(t, err)
	for _, path := range []string{"../outside", "files/../../outside", "/etc/passwd", "users.jsonl"} {
		if _, _, err := r.OpenFile(path); err == nil {
			t.Errorf("%s is opened", path)
		}
	}
	name := filepath.Join(dir, "messages.jsonl")
	b, err := os.ReadFile(name)
	must(t, err)
	must(t, os.WriteFile(name, bytes.Replace(b, []byte("root"), []byte("boot"), 1), 0o600))
	if _, err := interchangefile.Open(dir); err == nil || !strings.Contains(err.Error(), "messages.jsonl has changed") {
		t.Errorf("a file that was changed: %v", err)
	}
}
