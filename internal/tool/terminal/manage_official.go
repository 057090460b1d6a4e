package terminal

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// officialChange is a word of /official. The server decides who may change what.
type officialChange struct {
	name, args, about, chinese string
	run                        func(s *screen, ctx context.Context, a *chatv1.OfficialAccount, rest string) error
}

// officialChanges are what /official @account does. Entries of the menu and rules are numbered from 1; the number after the last one adds one.
func officialChanges() []officialChange {
	return []officialChange{
		{"menu", "N[.M] OPTIONS", `set an entry of the menu, or an item under one; options: title:"…", one of url:… text:"…" reply:"…", and of an item under:"TITLE OF A NEW ENTRY"`, `设置菜单项或其子项；选项：title:"…"，url:… text:"…" reply:"…" 之一，子项还可用 under:"新一级项的标题"`, (*screen).setMenuItem},
		{"rule", "N OPTIONS", `set a rule of automatic replies; options: one of contains:"…,…" prefix:"…" exact:"…", and reply:"…"`, `设置自动回复规则；选项：contains:"…,…" prefix:"…" exact:"…" 之一，以及 reply:"…"`, (*screen).setRule},
		{"welcome", "TEXT", "answer those who begin to follow", "回复新关注者", (*screen).setWelcome},
		{"fallback", "TEXT", "answer messages that no rule matches", "没有规则匹配时的回复", (*screen).setFallback},
		{"remove", "menu N[.M] | rule N | welcome | fallback | label LABEL yes", "remove one of these; a label is taken off everybody who has it", "删除其中一项；删除标签会从所有人身上去掉它", (*screen).removeOfOfficial},
		{"operator", "@a operator | admin | none", "set who acts for the account", "设置谁可以代表公众号操作", (*screen).setOperator},
		{"followers", "[LABEL]", "list its followers with their labels, or those with a label", "列出关注者及其标签，或有某个标签的关注者", (*screen).listFollowers},
		{"label", "LABEL @a @b", "set a label on followers", "给关注者加标签", labelFollowers(false)},
		{"unlabel", "LABEL @a @b", "take a label off followers", "去掉关注者的标签", labelFollowers(true)},
		{"relabel", `from:LABEL to:NAME [yes]`, "rename a label for all who have it; with yes, also if there is one of that name and the two become one", "为所有人重命名标签；加 yes 时，若已有同名标签则合并", (*screen).renameLabel},
	}
}

var (
	errMenuOptions = errorf("give what is set of a menu item: /official @shop menu 1 title:Hours reply:\"We are open from 9 to 17\"")
	errRuleOptions = errorf("give what is set of a rule: /official @shop rule 1 contains:\"hours,open\" reply:\"9 to 17\"")
	errNoMenuItem  = errorf("the menu has no such item; /official @account shows it, and the number after the last one adds one")
	errNoRule      = errorf("there is no such rule; /official @account lists them, and the number after the last one adds one")
)

// official shows what an official account answers, or changes it; alone, it lists the accounts of the user, and how they are changed.
func (s *screen) official(ctx context.Context, rest string) error {
	if rest == "" {
		if err := s.listAccounts(ctx); err != nil {
			return err
		}
		for _, c := range officialChanges() {
			about := c.about
			if speaksChinese() {
				about = c.chinese
			}
			s.say("  /official @account %s\n      %s", strings.TrimRight(c.name+" "+c.args, " "), about)
		}
		return nil
	}
	user, rest, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	word, rest, _ := strings.Cut(rest, " ")
	changes := officialChanges()
	i := slices.IndexFunc(changes, func(c officialChange) bool { return c.name == word })
	if word != "" && i < 0 {
		return errorf("an official account has no %q to change; /official lists what there is", plain(word))
	}
	account, err := call(ctx, s.client.Official().GetOfficialAccount, &chatv1.GetOfficialAccountRequest{User: user})
	if err != nil {
		return err
	}
	if word != "" {
		return changes[i].run(s, ctx, account, strings.TrimSpace(rest))
	}
	return s.showOfficial(ctx, account)
}

// showOfficial shows the menu with what its items do and, to operators, replies, operators and labels.
func (s *screen) showOfficial(ctx context.Context, a *chatv1.OfficialAccount) error {
	short := func(c *chatv1.Content) string {
		return excerpt.Marked(oneLine(plain(what(&chatv1.Message{Content: c}))), quoteLen)
	}
	if len(a.Menu) == 0 {
		s.say("It has no menu.")
	}
	for n, e := range a.Menu {
		for m, item := range append([]*chatv1.OfficialMenuItem{e.Item}, e.Items...) {
			number, does := strconv.Itoa(n+1), ""
			if m > 0 {
				number += "." + strconv.Itoa(m)
			}
			switch action := item.Action.(type) {
			case *chatv1.OfficialMenuItem_Url:
				does = phrasef("  opens %s", plain(action.Url))
			case *chatv1.OfficialMenuItem_Text:
				does = phrasef("  has the user say: %s", oneLine(plain(action.Text)))
			case *chatv1.OfficialMenuItem_Reply:
				does = phrasef("  replies: %s", short(action.Reply))
			}
			s.say("  %-4s %s%s", number, plain(item.Title), does)
		}
	}
	if a.Role == chatv1.OfficialRole_OFFICIAL_ROLE_UNSPECIFIED {
		return nil
	}
	for n, r := range a.Replies.GetRules() {
		s.say("  rule %d: %s %q: %s", n+1, phrase(matchWords[r.Match]), plain(strings.Join(r.Keywords, ", ")), short(r.Reply))
	}
	if w := a.Replies.GetWelcome(); w != nil {
		s.say("  welcome: %s", short(w))
	}
	if f := a.Replies.GetFallback(); f != nil {
		s.say("  without a rule: %s", short(f))
	}
	var users []uint64
	for _, o := range a.Operators {
		users = append(users, o.User)
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	for _, o := range a.Operators {
		s.say("  @%s  %s  (%s)", s.handle(o.User), s.name(ctx, o.User), phrase(officialRoles[o.Role]))
	}
	if len(a.Labels) > 0 {
		s.say("  labels: %s", plain(strings.Join(a.Labels, ", ")))
	}
	return nil
}

// matchWords say how a rule matches, and officialRoles what an operator is.
var (
	matchWords    = map[chatv1.KeywordRule_Match]string{chatv1.KeywordRule_MATCH_EXACT: "text is", chatv1.KeywordRule_MATCH_PREFIX: "begins with", chatv1.KeywordRule_MATCH_CONTAINS: "contains"}
	officialRoles = map[chatv1.OfficialRole]string{chatv1.OfficialRole_OFFICIAL_ROLE_OPERATOR: "operator", chatv1.OfficialRole_OFFICIAL_ROLE_ADMIN: "admin"}
)

var (
	menuOption = optionPattern("title|url|text|reply|under")
	ruleOption = optionPattern("contains|prefix|exact|reply")
)

// onlyOptions returns the options of a text; none is the error if there is anything else, or nothing.
func onlyOptions(pattern *regexp.Regexp, text string, none error) ([][2]string, error) {
	options, rest := cutOptions(pattern, text)
	if rest != "" || options == nil {
		return nil, none
	}
	return options, nil
}

// changeMenu stores a menu, unless somebody changed the account after it was read.
func (s *screen) changeMenu(ctx context.Context, a *chatv1.OfficialAccount, menu []*chatv1.OfficialMenuEntry) error {
	_, err := call(ctx, s.client.Official().UpdateOfficialAccount, &chatv1.UpdateOfficialAccountRequest{User: a.User, Revision: a.Revision, Menu: &chatv1.OfficialMenu{Entries: menu}})
	return s.done(err)
}

// changeReplies stores what is changed of the replies, unless somebody changed the account after it was read.
func (s *screen) changeReplies(ctx context.Context, a *chatv1.OfficialAccount, change func(*chatv1.OfficialReplies) error) error {
	replies := &chatv1.OfficialReplies{}
	if a.Replies != nil {
		replies = proto.CloneOf(a.Replies)
	}
	if err := change(replies); err != nil {
		return err
	}
	_, err := call(ctx, s.client.Official().UpdateOfficialAccount, &chatv1.UpdateOfficialAccountRequest{User: a.User, Revision: a.Revision, Replies: replies})
	return s.done(err)
}

// placeIn returns the place that a number from 1 to count has; with more, also the place after the last one.
func placeIn(number string, count int, more bool) (place int, found bool) {
	n, err := strconv.Atoi(number)
	if more {
		count++
	}
	return n - 1, err == nil && n >= 1 && n <= count
}

// setMenuItem sets what is given of an entry N or an item N.M, or adds it.
func (s *screen) setMenuItem(ctx context.Context, a *chatv1.OfficialAccount, rest string) error {
	number, rest, _ := strings.Cut(rest, " ")
	options, err := onlyOptions(menuOption, strings.TrimSpace(rest), errMenuOptions)
	if err != nil {
		return err
	}
	menu, err := withMenuItem(a.Menu, number, options)
	if err != nil {
		return err
	}
	return s.changeMenu(ctx, a, menu)
}

// withMenuItem returns a menu with options set of the item at a number. An entry with items does nothing itself, so its action goes with the first item.
func withMenuItem(menu []*chatv1.OfficialMenuEntry, number string, options [][2]string) ([]*chatv1.OfficialMenuEntry, error) {
	menu = proto.CloneOf(&chatv1.OfficialMenu{Entries: menu}).Entries
	top, sub, isItem := strings.Cut(number, ".")
	n, found := placeIn(top, len(menu), true)
	if !found {
		return nil, errNoMenuItem
	}
	if n == len(menu) {
		menu = append(menu, &chatv1.OfficialMenuEntry{Item: &chatv1.OfficialMenuItem{}})
	}
	entry := menu[n]
	item := entry.Item
	if isItem {
		m, found := placeIn(sub, len(entry.Items), true)
		if !found {
			return nil, errNoMenuItem
		}
		if m == len(entry.Items) {
			entry.Items = append(entry.Items, &chatv1.OfficialMenuItem{})
		}
		entry.Item.Action, item = nil, entry.Items[m]
	}
	for _, o := range options {
		switch value := o[1]; o[0] {
		case "title":
			item.Title = value
		case "url":
			item.Action = &chatv1.OfficialMenuItem_Url{Url: value}
		case "text":
			item.Action = &chatv1.OfficialMenuItem_Text{Text: value}
		case "reply":
			item.Action = &chatv1.OfficialMenuItem_Reply{Reply: textContent(value)}
		case "under":
			entry.Item.Title = value
		}
	}
	return menu, nil
}

// setRule sets what is given of rule N, or adds it.
func (s *screen) setRule(ctx context.Context, a *chatv1.OfficialAccount, rest string) error {
	number, rest, _ := strings.Cut(rest, " ")
	options, err := onlyOptions(ruleOption, strings.TrimSpace(rest), errRuleOptions)
	if err != nil {
		return err
	}
	return s.changeReplies(ctx, a, func(r *chatv1.OfficialReplies) error {
		n, found := placeIn(number, len(r.Rules), true)
		if !found {
			return errNoRule
		}
		if n == len(r.Rules) {
			r.Rules = append(r.Rules, &chatv1.KeywordRule{})
		}
		setOfRule(r.Rules[n], options)
		return nil
	})
}

func setOfRule(rule *chatv1.KeywordRule, options [][2]string) {
	for _, o := range options {
		if o[0] == "reply" {
			rule.Reply = textContent(o[1])
			continue
		}
		rule.Match, rule.Keywords = chatv1.KeywordRule_Match(chatv1.KeywordRule_Match_value["MATCH_"+strings.ToUpper(o[0])]), nil
		for _, k := range strings.FieldsFunc(o[1], func(c rune) bool { return c == ',' || c == '，' }) {
			rule.Keywords = append(rule.Keywords, strings.TrimSpace(k))
		}
	}
}

func (s *screen) setWelcome(ctx context.Context, a *chatv1.OfficialAccount, text string) error {
	if text == "" {
		return errReplyText
	}
	return s.changeReplies(ctx, a, func(r *chatv1.OfficialReplies) error { r.Welcome = textContent(text); return nil })
}

func (s *screen) setFallback(ctx context.Context, a *chatv1.OfficialAccount, text string) error {
	if text == "" {
		return errReplyText
	}
	return s.changeReplies(ctx, a, func(r *chatv1.OfficialReplies) error { r.Fallback = textContent(text); return nil })
}

var errReplyText = errorf("give a text, or remove it: /official @account remove welcome")

// removeOfOfficial removes an entry or item of the menu, a rule, another reply, or a label.
func (s *screen) removeOfOfficial(ctx context.Context, a *chatv1.OfficialAccount, rest string) error {
	word, number, _ := strings.Cut(rest, " ")
	number = strings.TrimSpace(number)
	if word == "label" {
		return s.deleteLabel(ctx, a, number)
	}
	if word == "menu" {
		menu, err := withoutMenuItem(a.Menu, number)
		if err != nil {
			return err
		}
		return s.changeMenu(ctx, a, menu)
	}
	return s.changeReplies(ctx, a, func(r *chatv1.OfficialReplies) error {
		switch word {
		case "rule":
			n, found := placeIn(number, len(r.Rules), false)
			if !found {
				return errNoRule
			}
			r.Rules = slices.Delete(r.Rules, n, n+1)
		case "welcome":
			r.Welcome = nil
		case "fallback":
			r.Fallback = nil
		default:
			return errorf("write what to remove: menu N, menu N.M, rule N, welcome, fallback, or label LABEL yes")
		}
		return nil
	})
}

// withoutMenuItem returns a menu without the entry N or the item N.M. The last item goes with its entry, which would do nothing.
func withoutMenuItem(menu []*chatv1.OfficialMenuEntry, number string) ([]*chatv1.OfficialMenuEntry, error) {
	menu = proto.CloneOf(&chatv1.OfficialMenu{Entries: menu}).Entries
	top, sub, isItem := strings.Cut(number, ".")
	n, found := placeIn(top, len(menu), false)
	if !found {
		return nil, errNoMenuItem
	}
	if !isItem {
		return slices.Delete(menu, n, n+1), nil
	}
	m, found := placeIn(sub, len(menu[n].Items), false)
	if !found {
		return nil, errNoMenuItem
	}
	if len(menu[n].Items) == 1 {
		return slices.Delete(menu, n, n+1), nil
	}
	menu[n].Items = slices.Delete(menu[n].Items, m, m+1)
	return menu, nil
}

func (s *screen) setOperator(ctx context.Context, a *chatv1.OfficialAccount, rest string) error {
	user, word, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	role, ok := map[string]chatv1.OfficialRole{"operator": chatv1.OfficialRole_OFFICIAL_ROLE_OPERATOR, "admin": chatv1.OfficialRole_OFFICIAL_ROLE_ADMIN, "none": chatv1.OfficialRole_OFFICIAL_ROLE_UNSPECIFIED}[word]
	if !ok {
		return errorf("a user is an operator, an admin or none: /official @account operator @a admin")
	}
	_, err = call(ctx, s.client.Official().SetOfficialOperator, &chatv1.SetOfficialOperatorRequest{User: a.User, Operator: user, Role: role})
	return s.done(err)
}

// listFollowers lists a page of followers, in the order of their ids.
func (s *screen) listFollowers(ctx context.Context, a *chatv1.OfficialAccount, label string) error {
	label = labelIn(label)
	r, err := call(ctx, s.client.Official().ListOfficialFollowers, &chatv1.ListOfficialFollowersRequest{User: a.User, Label: label})
	if err != nil {
		return err
	}
	var users []uint64
	for _, f := range r.Followers {
		users = append(users, f.User)
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	if len(users) == 0 {
		s.say("No one found.")
	}
	for _, f := range r.Followers {
		s.say("%s", strings.TrimRight(fmt.Sprintf("  @%s  %s  %s", s.handle(f.User), s.name(ctx, f.User), plain(strings.Join(f.Labels, ", "))), " "))
	}
	if r.Next != "" {
		s.say("  … and others: give a label")
	}
	return nil
}

// labelFollowers sets a label on followers, or takes it off.
func labelFollowers(remove bool) func(*screen, context.Context, *chatv1.OfficialAccount, string) error {
	return func(s *screen, ctx context.Context, a *chatv1.OfficialAccount, rest string) error {
		label, handles, found := strings.Cut(" "+rest, " @")
		if label = labelIn(label); label == "" || !found {
			return errorf("give a label, and then handles: /official @account label vip @alice @bob")
		}
		users, err := s.usersOf(ctx, handles)
		if err != nil {
			return err
		}
		_, err = call(ctx, s.client.Official().SetFollowerLabel, &chatv1.SetFollowerLabelRequest{User: a.User, Followers: users, Label: label, Remove: remove})
		return s.done(err)
	}
}
