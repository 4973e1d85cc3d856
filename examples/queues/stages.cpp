// A pipeline of three threads, of which the middle one is slow, with queues whose algorithm the user chooses. stages.c and
// rust/src/bin/stages.rs do the same.
//
//   c++ -O2 -std=c++17 stages.cpp $(pkg-config --cflags --libs baton) -lpthread -o stages
//   baton run --queue ring -- ./stages ITEMS MICROSECONDS
#include <baton_queues.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <pthread.h>
#include <thread>

// An item that can only be moved.
using number = std::unique_ptr<unsigned long>;

int main(int argc, char **argv) {
    if (argc != 3) {
        std::cerr << "usage: stages ITEMS MICROSECONDS\n";
        return 2;
    }
    const unsigned long items = std::strtoul(argv[1], nullptr, 10), micros = std::strtoul(argv[2], nullptr, 10);
    unsigned long sum = 0;
    baton::choice<number> tasks(BATON_ONE_TO_ONE, 4), results(BATON_ONE_TO_ONE, 8);
    std::cerr << "stages: queues " << tasks.name() << " and " << results.name() << '\n';
    std::thread reads([&] {
        pthread_setname_np(pthread_self(), "reads");
        for (unsigned long item = 0; item < items; item++) tasks.push(std::make_unique<unsigned long>(item));
        tasks.close();
    });
    std::thread works([&] {
        pthread_setname_np(pthread_self(), "works");
        while (auto task = tasks.pop()) {
            std::this_thread::sleep_for(std::chrono::microseconds(micros));
            **task *= **task;
            results.push(std::move(*task));
        }
        results.close();
    });
    std::thread writes([&] {
        pthread_setname_np(pthread_self(), "writes");
        while (auto result = results.pop()) sum += **result;
    });
    for (auto thread : {&reads, &works, &writes}) thread->join();
    std::cout << sum << '\n';
}
