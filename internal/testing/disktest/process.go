package disktest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Process is another process of the test program that waits in [Stop].
type Process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// Start starts this test program as another process, which runs only TestChild with these flags.
// Without flags TestChild must do nothing. Start returns when the process waits in [Stop] with the
// same point.
func Start(t *testing.T, point string, flags ...string) *Process {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestChild$", "-test.timeout=5m"}, flags...)...)
	cmd.Env = environ()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Process{cmd, in, bufio.NewScanner(out)}
	t.Cleanup(p.Kill)
	var output []string
	for p.lines.Scan() {
		if p.lines.Text() == "at "+point {
			return p
		}
		output = append(output, p.lines.Text())
	}
	t.Fatalf("the process did not reach Stop(%q): %v\n%s", point, cmd.Wait(), strings.Join(output, "\n"))
	return nil
}

// Stop waits until the process is killed or may continue. A process that was started by [Start]
// calls it.
func Stop(point string) {
	fmt.Println("\nat " + point)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // fails if the other process has ended
}

// Tell lets the process continue without waiting for it.
func (p *Process) Tell() error {
	_, err := io.WriteString(p.in, "\n")
	return err
}

// GoOn lets the process continue and waits for its end. The error has its output.
func (p *Process) GoOn() error {
	err := p.Tell()
	var output []string
	for p.lines.Scan() {
		output = append(output, p.lines.Text())
	}
	if err = errors.Join(err, p.cmd.Wait()); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.Join(output, "\n"))
	}
	return nil
}

// Kill kills the process and waits for its end, which releases its locks.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// Killed kills a process at each point of writing a target in dir, which is empty. After the kill the target must be
// missing, and write must make it. It must remove the temporary files of the killed process, whose names start with a
// dot, but not of a process that runs meanwhile. Killed returns the targets, also of the running process.
func Killed(t *testing.T, dir string, points []string, start func(target, point string) *Process, write func(target string) error) []string {
	t.Helper()
	wantTemporary := func(when string, want int) {
		t.Helper()
		if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) != want {
			t.Errorf("%s: temporary files %q, %v; want %d", when, left, err, want)
		}
	}
	targets := []string{filepath.Join(dir, "alive")}
	alive := start(targets[0], points[len(points)/2])
	for _, point := range points {
		target := filepath.Join(dir, point)
		targets = append(targets, target)
		start(target, point).Kill()
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("killed at %q: the target exists: %v", point, err)
		}
		wantTemporary("killed at "+point, 2)
		if err := write(target); err != nil {
			t.Errorf("after the kill at %q: %v", point, err)
		}
		wantTemporary("after the next one", 1)
	}
	if err := alive.GoOn(); err != nil {
		t.Errorf("the running process: %v", err)
	}
	wantTemporary("at the end", 0)
	return targets
}
