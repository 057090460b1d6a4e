package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// fingerprint of a file of a data directory and of the machine that it is on: the same after a restart and a reboot, another
// for a copy. A copied file has another inode or was born at another time; a cloned disk is in a machine with another identity
// of its own, network card or board; a snapshot on the same machine is mounted elsewhere. What cannot be read is left out.
func fingerprint(dir, name string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	var s unix.Statx_t
	path := filepath.Join(dir, name)
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &s); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	parts := []string{dir, fmt.Sprint(s.Ino)}
	if s.Mask&unix.STATX_BTIME != 0 {
		parts = append(parts, fmt.Sprint(s.Btime.Sec, s.Btime.Nsec))
	}
	for _, p := range []string{"/etc/machine-id", "/sys/class/dmi/id/product_uuid", "/sys/class/dmi/id/board_asset_tag", "/sys/hypervisor/uuid"} {
		parts = append(parts, line(p))
	}
	return digest(append(parts, cards()...)), nil
}

// cards returns the addresses of network cards that the manufacturer or the virtual machine's host assigned. Addresses of bridges and
// containers, and random ones, change and are left out.
func cards() []string {
	var list []string
	found, _ := filepath.Glob("/sys/class/net/*/device") // the pattern is a good one; in order
	for _, device := range found {
		if card := filepath.Dir(device); line(filepath.Join(card, "addr_assign_type")) == "0" {
			list = append(list, line(filepath.Join(card, "address")))
		}
	}
	return list
}

// line returns a small file's text, or "" if it cannot be read.
func line(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
