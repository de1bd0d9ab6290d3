// The Go client, end to end: main send|push|through name=value..., one line of JSON.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// Up to this window a goroutine for each send in flight; above it, callbacks.
const mostGoroutines = 64

const assignedAfter = 8 * time.Second

var settings = map[string]string{}

func main() {
	rlog.SetLogLevel("fatal")
	if len(os.Args) < 2 {
		panic("a case is missing")
	}
	for _, pair := range os.Args[2:] {
		name, value, _ := strings.Cut(pair, "=")
		settings[name] = value
	}
	switch os.Args[1] {
	case "send":
		if number("window") <= mostGoroutines {
			sendFromGoroutines()
		} else {
			sendWithCallbacks()
		}
	case "push":
		push()
	case "through":
		through()
	default:
		panic(fmt.Sprintf("there is no case %q", os.Args[1]))
	}
	os.Exit(0)
}

// ---- sending

func sendWithCallbacks() {
	sender, body := newProducer(), newBody(number("bodyBytes"))
	messages, warmUp, window := number("messages"), number("warmUp"), number("window")
	inFlight := make(chan struct{}, window)
	drain := func() {
		for i := 0; i < window; i++ {
			inFlight <- struct{}{}
		}
		for i := 0; i < window; i++ {
			<-inFlight
		}
	}
	taken := newLatencies(messages)
	var from mark
	for i := 0; i < warmUp+messages; i++ {
		if i == warmUp {
			drain()
			from = now()
		}
		inFlight <- struct{}{}
		isMeasured, started := i >= warmUp, time.Now()
		err := sender.SendAsync(context.Background(), func(_ context.Context, _ *primitive.SendResult, err error) {
			if err != nil {
				failed(err)
			} else if isMeasured {
				taken.add(time.Since(started))
			}
			<-inFlight
		}, newMessage(body))
		if err != nil {
			failed(err)
			<-inFlight
		}
	}
	drain()
	report(messages, from, now(), taken)
}

func sendFromGoroutines() {
	sender, body, count := newProducer(), newBody(number("bodyBytes")), number("window")
	messages := number("messages") / count * count
	taken := newLatencies(messages)
	sendFrom(sender, count, number("warmUp")/count, body, newLatencies(number("warmUp")))
	from := now()
	sendFrom(sender, count, messages/count, body, taken)
	report(messages, from, now(), taken)
}

func sendFrom(sender rocketmq.Producer, goroutines, each int, body []byte, taken *latencies) {
	var all sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for k := 0; k < each; k++ {
				started := time.Now()
				if _, err := sender.SendSync(context.Background(), newMessage(body)); err != nil {
					failed(err)
				} else {
					taken.add(time.Since(started))
				}
			}
		}()
	}
	all.Wait()
}

func newProducer() rocketmq.Producer {
	sender, err := rocketmq.NewProducer(
		producer.WithNameServer([]string{text("nameServer")}),
		producer.WithGroupName("bench_p"),
		producer.WithRetry(0),
		producer.WithSendMsgTimeout(20*time.Second),
		producer.WithCompressMsgBodyOverHowmuch(1<<30),
	)
	must(err)
	must(sender.Start())
	return sender
}

// ---- consuming

func push() {
	warmUp, all := int64(number("warmUp")), int64(number("warmUp")+number("messages"))
	var count, begun, ended, first, last int64
	var from, to mark
	done := make(chan struct{})
	receiver := newConsumer(consumer.ConsumeFromFirstOffset)
	must(receiver.Subscribe(text("topic"), consumer.MessageSelector{},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			so := atomic.AddInt64(&count, int64(len(messages)))
			if so >= warmUp && atomic.CompareAndSwapInt64(&begun, 0, 1) {
				first, from = so, now()
			}
			if so >= all && atomic.CompareAndSwapInt64(&ended, 0, 1) {
				last, to = so, now()
				close(done)
			}
			return consumer.ConsumeSuccess, nil
		}))
	must(receiver.Start())
	select {
	case <-done:
	case <-time.After(time.Duration(number("timeout")) * time.Second):
		panic(fmt.Sprintf("only %d messages came in time", atomic.LoadInt64(&count)))
	}
	report(int(last-first), from, to, newLatencies(0))
}

func through() {
	bodyBytes, messages, warmUp, rate := number("bodyBytes"), number("messages"), number("warmUp"), number("rate")
	start, run := time.Now(), uint32(1+time.Now().UnixMilli()&0x3fffffff)
	taken := newLatencies(messages)
	receiver := newConsumer(consumer.ConsumeFromLastOffset)
	must(receiver.Subscribe(text("topic"), consumer.MessageSelector{},
		func(_ context.Context, arrived ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			at := time.Since(start)
			for _, message := range arrived {
				if binary.BigEndian.Uint32(message.Body[8:]) == run {
					taken.add(at - time.Duration(binary.BigEndian.Uint64(message.Body)))
				}
			}
			return consumer.ConsumeSuccess, nil
		}))
	must(receiver.Start())
	time.Sleep(assignedAfter)
	sender := newProducer()
	var from mark
	begun := time.Now()
	for i := 0; i < warmUp+messages; i++ {
		if i == warmUp {
			from = now()
		}
		if early := time.Until(begun.Add(time.Duration(i) * time.Second / time.Duration(rate))); early > 0 {
			time.Sleep(early)
		}
		body := make([]byte, bodyBytes)
		binary.BigEndian.PutUint64(body, uint64(time.Since(start)))
		if i >= warmUp {
			binary.BigEndian.PutUint32(body[8:], run)
		}
		err := sender.SendAsync(context.Background(), func(_ context.Context, _ *primitive.SendResult, err error) {
			if err != nil {
				failed(err)
			}
		}, newMessage(body))
		if err != nil {
			failed(err)
		}
	}
	select {
	case <-taken.full:
	case <-time.After(time.Duration(number("timeout")) * time.Second):
		panic("not all messages came in time")
	}
	report(messages, from, now(), taken)
}

func newConsumer(where consumer.ConsumeFromWhere) rocketmq.PushConsumer {
	receiver, err := rocketmq.NewPushConsumer(
		consumer.WithNameServer([]string{text("nameServer")}),
		consumer.WithGroupName(text("group")),
		consumer.WithConsumeFromWhere(where),
		consumer.WithPullBatchSize(32),
	)
	must(err)
	return receiver
}

// ---- the meter

type mark struct {
	at  time.Time
	cpu float64
}

func now() mark {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return mark{time.Now(), seconds(usage.Utime) + seconds(usage.Stime)}
}

type latencies struct {
	ms    []float64
	count int64
	full  chan struct{}
}

func newLatencies(most int) *latencies {
	return &latencies{ms: make([]float64, most), full: make(chan struct{})}
}

func (l *latencies) add(taken time.Duration) {
	at := atomic.AddInt64(&l.count, 1)
	if at > int64(len(l.ms)) {
		return
	}
	l.ms[at-1] = float64(taken.Nanoseconds()) / 1e6
	if at == int64(len(l.ms)) {
		close(l.full)
	}
}

var errors int64

func report(messages int, from, to mark, taken *latencies) {
	seconds, cpu := to.at.Sub(from.at).Seconds(), to.cpu-from.cpu
	ms := taken.ms[:min(int(taken.count), len(taken.ms))]
	sort.Float64s(ms)
	at := func(share float64) *float64 {
		if len(ms) == 0 {
			return nil
		}
		value := rounded(ms[int(float64(len(ms)-1)*share)])
		return &value
	}
	line, err := json.Marshal(map[string]any{
		"client": "Go", "messages": messages, "seconds": rounded(seconds), "msgsPerSec": int(float64(messages) / seconds),
		"cpuSeconds": rounded(cpu), "cpuPerMillion": rounded(cpu / float64(messages) * 1e6),
		"p50Ms": at(0.5), "p99Ms": at(0.99), "rssMiB": rounded(peakMiB()), "errors": atomic.LoadInt64(&errors),
	})
	must(err)
	fmt.Println(string(line))
}

func peakMiB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	must(err)
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, "VmHWM:") {
			kib, err := strconv.Atoi(strings.Fields(line)[1])
			must(err)
			return float64(kib) / 1024
		}
	}
	panic("/proc/self/status has no VmHWM")
}

func rounded(value float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(value, 'f', 3, 64), 64)
	must(err)
	return short
}

func failed(err error) {
	if atomic.AddInt64(&errors, 1) < 4 {
		fmt.Fprintln(os.Stderr, err)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// ---- settings

func text(name string) string {
	value, ok := settings[name]
	if !ok {
		panic(fmt.Sprintf("the setting %q is missing", name))
	}
	return value
}

func number(name string) int {
	value, err := strconv.Atoi(text(name))
	must(err)
	return value
}

func newBody(length int) []byte {
	body := make([]byte, length)
	rand.New(rand.NewSource(7)).Read(body)
	return body
}

func newMessage(body []byte) *primitive.Message {
	return primitive.NewMessage(text("topic"), body).WithTag("TagA")
}
