package indexprocess

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// SetNiceness gives this process a niceness, at least its present one. Linux keeps one for each thread, and a new thread has that of the one that makes it. So it
// changes the threads until none is left.
func SetNiceness(niceness int) error {
	const highest = 20 // the system call returns this minus the niceness
	for changed := true; changed; {
		changed = false
		list, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, e := range list {
			thread, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			now, err := syscall.Getpriority(syscall.PRIO_PROCESS, thread)
			if err == nil && highest-now < niceness {
				err, changed = syscall.Setpriority(syscall.PRIO_PROCESS, thread, niceness), true
			}
			if err != nil && !errors.Is(err, syscall.ESRCH) { // a thread that has ended
				return err
			}
		}
	}
	return nil
}

// PreferForOOM makes the kernel end this process before its caller if memory runs out: it is started again, and nothing is lost.
func PreferForOOM() error {
	const file, score = "/proc/self/oom_score_adj", 500 // of 1,000, which would be the first of all
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	now, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || now >= score {
		return err
	}
	return os.WriteFile(file, strconv.AppendInt(nil, score, 10), 0)
}
