package edge

import "container/list"

// lru is a map whose entries have costs. While they cost more than a bound together, the entry that was not used for longest is dropped.
type lru[K comparable, V any] struct {
	most    int
	cost    int
	order   *list.List // of *entry[K, V], the latest used first
	entries map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
	cost  int
}

func newLRU[K comparable, V any](most int) lru[K, V] {
	return lru[K, V]{most: most, order: list.New(), entries: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(key K) (value V, ok bool) {
	e := l.entries[key]
	if e == nil {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// peek is get without a use.
func (l *lru[K, V]) peek(key K) (value V) {
	if e := l.entries[key]; e != nil {
		value = e.Value.(*entry[K, V]).value
	}
	return value
}

func (l *lru[K, V]) put(key K, value V, cost int) {
	l.remove(key)
	l.entries[key] = l.order.PushFront(&entry[K, V]{key, value, cost})
	l.cost += cost
	for l.cost > l.most && l.order.Len() > 1 {
		l.remove(l.order.Back().Value.(*entry[K, V]).key)
	}
}

func (l *lru[K, V]) remove(key K) {
	if e := l.entries[key]; e != nil {
		l.order.Remove(e)
		l.cost -= e.Value.(*entry[K, V]).cost
		delete(l.entries, key)
	}
}

// each calls do for all entries, which it may remove.
func (l *lru[K, V]) each(do func(key K, value V)) {
	for e := l.order.Front(); e != nil; {
		next := e.Next()
		found := e.Value.(*entry[K, V])
		do(found.key, found.value)
		e = next
	}
}
