package disktest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Process is another process of the test program, which has come to a certain point.
type Process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// Start starts this test program as another process, which runs only TestChild, with these
// flags. That test does nothing without one of them, so that no process starts others. Start
// returns when the process has come to [Stop] with the same point.
func Start(t *testing.T, point string, flags ...string) *Process {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestChild$", "-test.timeout=60s"}, flags...)...)
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
	t.Cleanup(p.Kill) // one that the test has let down
	var said []string
	for p.lines.Scan() {
		if p.lines.Text() == "at "+point {
			return p
		}
		said = append(said, p.lines.Text())
	}
	t.Fatalf("the process did not come to %q: %v\n%s", point, cmd.Wait(), strings.Join(said, "\n"))
	return nil
}

// Stop is called by such a process: it waits there until it is killed or told to go on.
func Stop(point string) {
	fmt.Println("\nat " + point)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // also if the other process has ended
}

// Tell lets the process go on, and does not wait.
func (p *Process) Tell() error {
	_, err := io.WriteString(p.in, "\n")
	return err
}

// GoOn lets the process go on to its end. The error has what it printed.
func (p *Process) GoOn() error {
	err := p.Tell()
	var said []string
	for p.lines.Scan() {
		said = append(said, p.lines.Text())
	}
	if err = errors.Join(err, p.cmd.Wait()); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.Join(said, "\n"))
	}
	return nil
}

// Kill kills the process and returns when it has gone, and its locks with it.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // which says that it was killed
}
