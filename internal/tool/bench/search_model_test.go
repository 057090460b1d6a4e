package bench

import "testing"

// A message must be found by a topic that it has during a whole search, may be found by one that it has at some moment of it, and is wrong otherwise.
func TestAnswersOfSearchesAreComparedWithWhatReadersMayRead(t *testing.T) {
	at := place{7, 1}
	for name, c := range map[string]struct {
		m              searchedMessage
		reader         int
		topic          string
		settled        bool
		hit            bool
		wrong, missing int
	}{
		"found":                               {m: searchedMessage{changed: span{never, never}}, topic: "old", hit: true},
		"not found":                           {m: searchedMessage{changed: span{never, never}}, topic: "old", missing: 1},
		"found by somebody else":              {m: searchedMessage{changed: span{never, never}}, reader: 2, topic: "old", hit: true, wrong: 1},
		"not found by somebody else":          {m: searchedMessage{changed: span{never, never}}, reader: 2, topic: "old"},
		"found by another topic":              {m: searchedMessage{changed: span{never, never}}, topic: "other", hit: true, wrong: 1},
		"found by any word":                   {m: searchedMessage{changed: span{never, never}}, hit: true},
		"recalled before, found":              {m: searchedMessage{changed: span{5, 9}}, topic: "old", hit: true, wrong: 1},
		"recalled before, found by any word":  {m: searchedMessage{changed: span{5, 9}}, hit: true, wrong: 1},
		"recalled before, not found":          {m: searchedMessage{changed: span{5, 9}}, topic: "old"},
		"recalled meanwhile, found":           {m: searchedMessage{changed: span{5, 15}}, topic: "old", hit: true},
		"recalled meanwhile, not found":       {m: searchedMessage{changed: span{15, never}}, topic: "old"},
		"recalled later, not found":           {m: searchedMessage{changed: span{25, 30}}, topic: "old", missing: 1},
		"edited before, found by the old":     {m: searchedMessage{changed: span{5, 9}, newTopic: "new"}, topic: "old", hit: true, wrong: 1},
		"edited before, found by the new":     {m: searchedMessage{changed: span{5, 9}, newTopic: "new"}, topic: "new", hit: true},
		"edited before, not found by the new": {m: searchedMessage{changed: span{5, 9}, newTopic: "new"}, topic: "new"},
		"edited and indexed, not found":       {m: searchedMessage{changed: span{5, 9}, newTopic: "new"}, topic: "new", settled: true, missing: 1},
		"edited later, found by the new":      {m: searchedMessage{changed: span{25, 30}, newTopic: "new"}, topic: "new", hit: true, wrong: 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSearchModel(nil, 0, [][]int{{0, 1}}, 1)
			h, changed := &c.m, c.m.changed
			h.topic, h.at = "old", at
			m.add(h)
			if h.changed = changed; h.newTopic != "" {
				m.byTopic[h.newTopic] = append(m.byTopic[h.newTopic], h)
			}
			s := &search{reader: c.reader, topic: c.topic, asked: 10, got: 20, complete: true, settled: c.settled}
			if c.hit {
				s.hits = []place{at}
			}
			if wrong, missing := m.check(s); wrong != c.wrong || missing != c.missing {
				t.Errorf("%d wrong and %d missing, expected %d and %d", wrong, missing, c.wrong, c.missing)
			}
		})
	}
}
