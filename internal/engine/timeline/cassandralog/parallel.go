package cassandralog

import (
	"errors"
	"sync"
)

// maxParallel is the maximum number of concurrent statements of one call.
const maxParallel = 16

// forEach calls do for each pair of a map, some concurrently, and joins the errors.
func forEach[K comparable, V any](m map[K]V, do func(K, V) error) error {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return parallel(len(keys), func(i int) error { return do(keys[i], m[keys[i]]) })
}

// parallel calls do for 0 to n-1, some concurrently.
func parallel(n int, do func(int) error) error {
	if n == 1 {
		return do(0)
	}
	failed := make([]error, n)
	var wait sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			failed[i] = do(i)
			<-slots
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}
