package cliconfig

import "time"

// protocols is what the configuration says about requests; nil: nothing.
type protocols struct {
	retries         *int
	timeout         *time.Duration // 0: no limit
	downloadRetries *int
}

// registryProtocols reads the block of this name. Of several files, the last one that
// has an argument counts.
func (r *fileReader) registryProtocols(it item) {
	if it.value.kind != object || len(it.names) > 1 {
		r.wrong(it.at(), "\"registry_protocols\" must be a block without labels")
		return
	}
	if r.protocols != nil {
		r.wrong(it.at(), "there is another block \"registry_protocols\" in line %d of this file", r.place(r.protocols.at()).Line)
		return
	}
	r.protocols = &it
	for _, argument := range it.value.body {
		switch {
		case argument.is("retry_count"):
			if n, ok := r.count(argument); ok {
				r.set.protocols.retries = &n
			}
		case argument.is("request_timeout_seconds"):
			if n, ok := r.count(argument); ok {
				r.set.protocols.timeout = seconds(n)
			}
		default:
			r.warn(argument.at(), "unknown argument %s of a block \"registry_protocols\" is ignored", shown(argument.name()))
		}
	}
}

func seconds(n int) *time.Duration { return new(time.Duration(n) * time.Second) }
