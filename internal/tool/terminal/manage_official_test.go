package terminal

import (
	"slices"
	"strings"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A change of a menu sets what it names, adds behind the last one, and leaves the rest; so does a removal.
func TestMenusAreChangedInPart(t *testing.T) {
	url := func(title, url string) *chatv1.OfficialMenuItem {
		return &chatv1.OfficialMenuItem{Title: title, Action: &chatv1.OfficialMenuItem_Url{Url: url}}
	}
	reply := func(title, text string) *chatv1.OfficialMenuItem {
		return &chatv1.OfficialMenuItem{Title: title, Action: &chatv1.OfficialMenuItem_Reply{Reply: textContent(text)}}
	}
	was := func() []*chatv1.OfficialMenuEntry {
		return []*chatv1.OfficialMenuEntry{{Item: url("Shop", "https://a.example")}, {Item: &chatv1.OfficialMenuItem{Title: "Help"}, Items: []*chatv1.OfficialMenuItem{reply("Hours", "9 to 5"), url("Map", "https://b.example")}}}
	}
	menu := was()
	for line, want := range map[string]func() []*chatv1.OfficialMenuEntry{
		`1 title:"Our shop"`: func() []*chatv1.OfficialMenuEntry { m := was(); m[0].Item.Title = "Our shop"; return m },
		`2.1 reply:"9 to 17"`: func() []*chatv1.OfficialMenuEntry {
			m := was()
			m[1].Items[0] = reply("Hours", "9 to 17")
			return m
		},
		`2.3 title:Refunds reply:no`: func() []*chatv1.OfficialMenuEntry {
			m := was()
			m[1].Items = append(m[1].Items, reply("Refunds", "no"))
			return m
		},
		`1.1 title:New url:https://c.example`: func() []*chatv1.OfficialMenuEntry { // an entry with items does nothing itself
			m := was()
			m[0].Item.Action, m[0].Items = nil, []*chatv1.OfficialMenuItem{url("New", "https://c.example")}
			return m
		},
		`3.1 under:More title:Say text:"hello there"`: func() []*chatv1.OfficialMenuEntry {
			return append(was(), &chatv1.OfficialMenuEntry{Item: &chatv1.OfficialMenuItem{Title: "More"}, Items: []*chatv1.OfficialMenuItem{{Title: "Say", Action: &chatv1.OfficialMenuItem_Text{Text: "hello there"}}}})
		},
		`4 title:x`: nil, `0 title:x`: nil, `2.4 title:x`: nil, `x title:x`: nil, `1. title:x`: nil, `-1 title:x`: nil, `1 colour:red`: nil, `1 title`: nil, `1`: nil, `1 title:x y`: nil,
	} {
		number, rest, _ := strings.Cut(line, " ")
		options, err := onlyOptions(menuOption, rest, errMenuOptions)
		var got []*chatv1.OfficialMenuEntry
		if err == nil {
			got, err = withMenuItem(menu, number, options)
		}
		if want == nil {
			if err == nil {
				t.Errorf("%q changes the menu to %v, want an error", line, got)
			}
			continue
		}
		if err != nil || !proto.Equal(&chatv1.OfficialMenu{Entries: got}, &chatv1.OfficialMenu{Entries: want()}) {
			t.Errorf("%q changes the menu to %v %v, want %v", line, got, err, want())
		}
	}
	for number, want := range map[string][]*chatv1.OfficialMenuEntry{
		"1":   was()[1:],
		"2.1": {was()[0], {Item: was()[1].Item, Items: was()[1].Items[1:]}},
		"3":   nil, "2.3": nil, "1.1": nil, "": nil,
	} {
		got, err := withoutMenuItem(menu, number)
		if (err != nil) != (want == nil) || !proto.Equal(&chatv1.OfficialMenu{Entries: got}, &chatv1.OfficialMenu{Entries: want}) {
			t.Errorf("without %q the menu is %v %v, want %v", number, got, err, want)
		}
	}
	one := []*chatv1.OfficialMenuEntry{{Item: &chatv1.OfficialMenuItem{Title: "Help"}, Items: []*chatv1.OfficialMenuItem{reply("Hours", "9 to 5")}}}
	if got, err := withoutMenuItem(one, "1.1"); err != nil || len(got) != 0 {
		t.Errorf("without its only item an entry is %v %v, want none", got, err)
	}
	if !proto.Equal(&chatv1.OfficialMenu{Entries: menu}, &chatv1.OfficialMenu{Entries: was()}) {
		t.Errorf("the menu that was read is %v afterwards", menu)
	}
}

// A change of a rule sets what it names. Keywords stand between commas of either script.
func TestRulesAreChangedInPart(t *testing.T) {
	rule := &chatv1.KeywordRule{Match: chatv1.KeywordRule_MATCH_EXACT, Keywords: []string{"a"}, Reply: textContent("x")}
	for _, c := range []struct {
		line string
		want *chatv1.KeywordRule
	}{
		{`reply:"y z"`, &chatv1.KeywordRule{Match: chatv1.KeywordRule_MATCH_EXACT, Keywords: []string{"a"}, Reply: textContent("y z")}},
		{`contains:"退款， refund,back"`, &chatv1.KeywordRule{Match: chatv1.KeywordRule_MATCH_CONTAINS, Keywords: []string{"退款", "refund", "back"}, Reply: textContent("y z")}},
		{`prefix:hi reply:hello`, &chatv1.KeywordRule{Match: chatv1.KeywordRule_MATCH_PREFIX, Keywords: []string{"hi"}, Reply: textContent("hello")}},
	} {
		options, err := onlyOptions(ruleOption, c.line, errRuleOptions)
		if setOfRule(rule, options); err != nil || !proto.Equal(rule, c.want) {
			t.Errorf("%s makes it %v %v, want %v", c.line, rule, err, c.want)
		}
	}
}

// The options of a broadcast stand before its text.
func TestOptionsOfBroadcasts(t *testing.T) {
	for _, c := range []struct {
		line, text string
		want       *chatv1.CreateBroadcastRequest
		fails      bool
	}{
		{line: "We are open", text: "We are open", want: &chatv1.CreateBroadcastRequest{}},
		{line: "waves:1,10,100 We are open", text: "We are open", want: &chatv1.CreateBroadcastRequest{Waves: []uint32{1, 10, 100}, WaveSeconds: 3600}},
		{line: `label:"very important" label:vip every:90s waves:50,100 at waves:1`, text: "at waves:1",
			want: &chatv1.CreateBroadcastRequest{Waves: []uint32{50, 100}, WaveSeconds: 90, Audience: &chatv1.BroadcastAudience{Labels: []string{"very important", "vip"}}}},
		{line: "waves:1,x text", fails: true}, {line: "waves:300 text", fails: true}, {line: "every:soon text", fails: true}, {line: "every:200h text", fails: true}, {line: "every:-1h text", fails: true},
	} {
		r := &chatv1.CreateBroadcastRequest{Audience: &chatv1.BroadcastAudience{}}
		text, err := setOfBroadcast(r, c.line)
		if c.fails {
			if err == nil {
				t.Errorf("%q is a broadcast of %v, want an error", c.line, r)
			}
			continue
		}
		if c.want.Audience == nil {
			c.want.Audience = &chatv1.BroadcastAudience{}
		}
		if err != nil || text != c.text || !proto.Equal(r, c.want) {
			t.Errorf("%q is %q with %v %v, want %q with %v", c.line, text, r, err, c.text, c.want)
		}
	}
}

func TestChangesOfOfficialAccountsHaveHelpInBothLanguages(t *testing.T) {
	var names []string
	for _, c := range officialChanges() {
		if names = append(names, c.name); c.about == "" || c.chinese == "" {
			t.Errorf("/official @account %s has no help in English or in Chinese", c.name)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(officialChanges()) {
		t.Errorf("two changes have one name: %v", names)
	}
}
