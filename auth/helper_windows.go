package auth

import (
	"os"
	"os/exec"

	"golang.org/x/sys/windows"
)

// A processTree is a program and the processes in its job.
type processTree struct {
	program *os.Process
	job     windows.Handle // 0 if there is none
}

func (t *processTree) prepare(*exec.Cmd) {}

// adopt puts the program into a job, which what it starts from now on joins.
// Package os/exec cannot start a program in a job, nor suspended.
func (t *processTree) adopt(p *os.Process) {
	t.program = p
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	var refused error
	err = p.WithHandle(func(handle uintptr) {
		refused = windows.AssignProcessToJobObject(job, windows.Handle(handle))
	})
	if err != nil || refused != nil {
		_ = windows.CloseHandle(job)
		return
	}
	t.job = job
}

func (t *processTree) kill() {
	if t.job != 0 {
		_ = windows.TerminateJobObject(t.job, 1)
	}
	_ = t.program.Kill() // has ended already, or was in no job
}

func (t *processTree) release() {
	if t.job != 0 {
		_ = windows.CloseHandle(t.job)
	}
}
