package throttle

// MaxHosts is the number of hosts kept in memory without a request.
const MaxHosts = maxHosts

// Hosts returns the number of hosts in memory.
func (t *Transport) Hosts() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.hosts)
}
