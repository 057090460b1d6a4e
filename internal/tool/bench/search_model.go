package bench

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// searchModel has all messages that the load has sent, edited and recalled: what a search must find, and what it must not.
//
// Each message has one of many made-up words, its topic, so that it is known exactly which messages a search for a topic finds. Topics have so many letters that no two are
// alike up to a typo, and that no other text contains one. Every fourth is of Chinese characters.
type searchModel struct {
	corpus corpus
	topics []string
	groups [][]int // members by group

	mu      sync.Mutex // guards all below
	list    []*searchedMessage
	byTopic map[string][]*searchedMessage
	byPlace map[place]*searchedMessage
}

// place is where a message is.
type place struct{ conversation, seq uint64 }

// searchedMessage is a message that the load has sent. What it is of is not changed after it was added.
type searchedMessage struct {
	group, author int
	topic         string
	at            place
	changed       span   // edited or recalled; never where that did not happen
	newTopic      string // empty where it is recalled
}

const (
	topicLetters    = 12
	topicCharacters = 4
	// minSearchText has room for a topic, the word of a probe, and some text.
	minSearchText = 64
	// messagesOfTopic is in how many messages each topic is, on average.
	messagesOfTopic = 200
)

func newSearchModel(c corpus, messages int, groups [][]int, seed uint64) *searchModel {
	m := &searchModel{corpus: c, groups: groups, byTopic: map[string][]*searchedMessage{}, byPlace: map[place]*searchedMessage{}}
	random := rand.New(rand.NewPCG(seed, 3))
	for i := range max(2, messages/messagesOfTopic) {
		m.topics = append(m.topics, topicWord(random, i%4 == 3))
	}
	return m
}

// topicWord makes up a word.
func topicWord(random *rand.Rand, chinese bool) string {
	var word []rune
	if chinese {
		for range topicCharacters {
			word = append(word, rune(0x4e00+random.IntN(0x5000)))
		}
		return string(word)
	}
	for range topicLetters {
		word = append(word, rune('a'+random.IntN(26)))
	}
	return string(word)
}

// textOf returns the text of a message with a topic. probe is a further word, or empty.
func (m *searchModel) textOf(topic, probe string, n, size int) string {
	text := topic + " " + probe + " "
	return text + string(cut(m.corpus.of(0, uint32(n)), max(1, size-len(text))))
}

// add adds a message that was acknowledged.
func (m *searchModel) add(s *searchedMessage) {
	s.changed = span{never, never}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, s)
	m.byTopic[s.topic] = append(m.byTopic[s.topic], s)
	m.byPlace[s.at] = s
}

// changing takes a message that nobody changes, for an edit or a recall that is sent now.
func (m *searchModel) changing(random *rand.Rand, newTopic string, now moment) *searchedMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.list[random.IntN(len(m.list))]
	if s.changed.from != never {
		return nil
	}
	s.changed.from, s.newTopic = now, newTopic
	if newTopic != "" {
		m.byTopic[newTopic] = append(m.byTopic[newTopic], s)
	}
	return s
}

// change notes that a change was acknowledged.
func (m *searchModel) change(s *searchedMessage, now moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.changed.to = now
}

// search is a query and its answer.
type search struct {
	reader     int
	topic      string // that all hits must have; empty: any text
	asked, got moment
	hits       []place
	complete   bool // all pages were read
	settled    bool // nothing was sent or changed for so long that everything is in the index
}

// check counts the hits of an answer that are wrong, and those that are missing: the reader may not read a wrong one, or it did not have the topic at any moment of the call.
func (m *searchModel) check(s *search) (wrong, missing int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[*searchedMessage]bool{}
	for _, at := range s.hits {
		h := m.byPlace[at]
		if h == nil || found[h] || !slices.Contains(m.groups[h.group], s.reader) || !h.mayHave(s) {
			wrong++
			continue
		}
		found[h] = true
	}
	if s.topic == "" || !s.complete {
		return wrong, 0
	}
	for _, h := range m.byTopic[s.topic] {
		if !found[h] && slices.Contains(m.groups[h.group], s.reader) && h.mustHave(s) {
			missing++
		}
	}
	return wrong, missing
}

// mayHave reports whether a message had the topic at some moment of a search.
func (h *searchedMessage) mayHave(s *search) bool {
	before := h.changed.to > s.asked
	after := h.changed.from <= s.got && h.newTopic != ""
	return before && (s.topic == "" || h.topic == s.topic) || after && (s.topic == "" || h.newTopic == s.topic)
}

// mustHave reports whether a message had the topic during a whole search, and for so long that the index has it.
func (h *searchedMessage) mustHave(s *search) bool {
	if h.changed.from == never {
		return h.topic == s.topic
	}
	return h.changed.from > s.got && h.topic == s.topic || s.settled && h.newTopic == s.topic
}

// anyTopic is the present topic of a random message.
func (m *searchModel) anyTopic(random *rand.Rand) string { return m.topics[random.IntN(len(m.topics))] }
