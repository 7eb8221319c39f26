package program

import (
	"errors"
	"math"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A Group is a running program with the programs that it has started: a job object. The system kills
// them when this process ends.
type Group struct{ job windows.Handle }

// Start starts a command of [exec.CommandContext]. The program has no console. When the context ends,
// the group is killed. If memory is positive, each program gets at most so many bytes.
func Start(cmd *exec.Cmd, memory int64) (*Group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	g := &Group{job}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW}
	cmd.Cancel = func() error {
		defer cmd.Process.Kill() // if it is not in the group yet
		return g.Kill()
	}
	err = g.limit(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, memory)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	// The program is suspended and has started nothing yet.
	handled := cmd.Process.WithHandle(func(process uintptr) {
		err = windows.AssignProcessToJobObject(job, windows.Handle(process))
	})
	if err = errors.Join(handled, err); err == nil {
		err = resume(uint32(cmd.Process.Pid))
	}
	if err != nil {
		err = errors.Join(err, cmd.Process.Kill(), cmd.Wait())
		g.Close()
		return nil, err
	}
	return g, nil
}

// resume resumes the threads of a process.
func resume(process uint32) error {
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(threads)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if entry.OwnerProcessID != process {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		windows.CloseHandle(thread)
		if err != nil {
			return err
		}
	}
	if errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return nil
	}
	return err
}

// limit sets the limits of the group.
func (g *Group) limit(flags uint32, memory int64) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if memory > 0 {
		flags |= windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY
		info.ProcessMemoryLimit = uintptr(min(uint64(memory), math.MaxUint))
	}
	info.BasicLimitInformation.LimitFlags = flags
	_, err := windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return err
}

// Kill kills the group.
func (g *Group) Kill() error { return windows.TerminateJobObject(g.job, 1) }

// Close releases resources after the end of the program. Programs of the group run on.
func (g *Group) Close() {
	_ = g.limit(0, 0)
	windows.CloseHandle(g.job)
}
