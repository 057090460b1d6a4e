package chaos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// instruction of the kernel's packet filter machine (eBPF).
type instruction struct {
	code     byte
	operands byte // destination + 16 × source
	offset   int16
	value    int32
}

// operands encodes two registers.
func operands(to, from byte) byte { return to | from<<4 }

// wide loads a 64-bit constant.
func wide(to, from byte, v uint64) []instruction {
	return []instruction{{0x18, operands(to, from), 0, int32(uint32(v))}, {0, 0, 0, int32(uint32(v >> 32))}}
}

// lossProgram counts packets in the first cell of a map, and drops those that isLost selects.
func lossProgram(counter int, seed, limit uint64) (list []instruction) {
	add := func(more ...instruction) { list = append(list, more...) }
	add(instruction{0x62, 10, -4, 0}) // the map's key, 0, on the stack
	add(instruction{0xbf, operands(2, 10), 0, 0}, instruction{0x07, 2, 0, -4})
	add(wide(1, 1, uint64(uint32(counter)))...)                                           // r1 = the map, by its descriptor
	add(instruction{0x85, 0, 0, 1})                                                       // r0 = the cell
	add(instruction{0x55, 0, 2, 0}, instruction{0xb7, 0, 0, -1}, instruction{code: 0x95}) // no cell: the packet passes
	add(instruction{0xb7, 1, 0, 1}, instruction{0xdb, operands(0, 1), 0, 1})              // r1 = the cell, and the cell is incremented
	add(instruction{0x07, 1, 0, 1})                                                       // splitMix64(seed + (n+1)*golden)
	add(wide(2, 0, golden)...)
	add(instruction{0x2f, operands(1, 2), 0, 0})
	add(wide(2, 0, seed)...)
	add(instruction{0x0f, operands(1, 2), 0, 0})
	for _, step := range []struct {
		shift int32
		by    uint64
	}{{30, mixOne}, {27, mixTwo}, {31, 0}} {
		add(instruction{0xbf, operands(2, 1), 0, 0}, instruction{0x77, 2, 0, step.shift}, instruction{0xaf, operands(1, 2), 0, 0})
		if step.by != 0 {
			add(wide(2, 0, step.by)...)
			add(instruction{0x2f, operands(1, 2), 0, 0})
		}
	}
	add(instruction{0x77, 1, 0, 32})
	add(wide(2, 0, limit)...)
	add(instruction{0x3d, operands(1, 2), 2, 0})                              // not below the limit: it passes
	add(instruction{0xb7, 0, 0, 2}, instruction{code: 0x95})                  // dropped
	return append(list, instruction{0xb7, 0, 0, -1}, instruction{code: 0x95}) // continue with the next filter
}

// bpf is the system call. attributes have the layout of linux/bpf.h.
func bpf(command uintptr, attributes []byte) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_BPF, command, uintptr(unsafe.Pointer(&attributes[0])), uintptr(len(attributes)))
	if errno != 0 {
		return -1, fmt.Errorf("loading an eBPF program (bpf %d): %w", command, errno)
	}
	return int(fd), nil
}

// loadLoss loads a program with its own counter into the kernel. It exists as long as its descriptor or a filter that uses it.
func loadLoss(seed, limit uint64) (program int, err error) {
	const mapCreate, progLoad, arrayMap, schedClass = 0, 5, 2, 3
	words := func(list ...uint32) (b []byte) {
		for _, w := range list {
			b = binary.NativeEndian.AppendUint32(b, w)
		}
		return b
	}
	counter, err := bpf(mapCreate, words(arrayMap, 4, 8, 1, 0)) // one cell of 8 bytes
	if err != nil {
		return -1, err
	}
	defer unix.Close(counter) //nolint:errcheck // the program keeps it
	list, licence := lossProgram(counter, seed, limit), []byte("Apache-2.0\x00")
	var still runtime.Pinner // the kernel reads them by addresses that the garbage collector does not see
	still.Pin(&list[0])
	still.Pin(&licence[0])
	defer still.Unpin()
	b := words(schedClass, uint32(len(list)))
	b = binary.NativeEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(&list[0]))))
	b = binary.NativeEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(&licence[0]))))
	b = append(b, make([]byte, 24)...) // no log
	return bpf(progLoad, b)
}

// attachLoss attaches a program to incoming or outgoing IPv4 packets of a device that has a clsact qdisc. It must be called in the
// device's namespace.
func attachLoss(device string, out bool, program int) (err error) {
	link, err := net.InterfaceByName(device)
	if err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(s)) }()
	const parent, byFD, name, flags, direct, ipv4 = 0xfffffff2, 6, 7, 8, 1, 0x0008
	word := func(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }
	to := uint32(parent) // ingress
	if out {
		to++
	}
	options := append(attribute(byFD, word(uint32(program))), append(attribute(name, []byte("loss\x00")), attribute(flags, word(direct))...)...)
	body := []byte{unix.AF_UNSPEC, 0, 0, 0}
	for _, v := range []uint32{uint32(link.Index), 0, to, 1<<16 | ipv4} { // index, handle, parent, priority and protocol
		body = binary.NativeEndian.AppendUint32(body, v)
	}
	body = append(body, append(attribute(unix.TCA_KIND, []byte("bpf\x00")), attribute(unix.TCA_OPTIONS, options)...)...)
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	b = binary.NativeEndian.AppendUint16(b, unix.RTM_NEWTFILTER)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b = append(b, make([]byte, 8)...)
	if err := unix.Sendto(s, append(b, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 {
		return errors.New("the kernel's answer is too short")
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return fmt.Errorf("attaching a packet filter to %s: %w", device, unix.Errno(-code))
	}
	return nil
}

// attribute encodes a netlink attribute with its length, padded to four bytes.
func attribute(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	return append(b, make([]byte, -len(b)&3)...)
}
