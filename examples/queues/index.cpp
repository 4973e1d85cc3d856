// Indexes a folder: one thread finds files, THREADS count the words of files, and the first thread adds the counts up. Paths and
// counts go through queues; the user chooses the algorithm of the queue of paths. index.c and rust/ do the same.
//
//   c++ -O2 -std=c++17 index.cpp $(pkg-config --cflags --libs baton) -lpthread -o index && ./index FOLDER [THREADS]
//   baton run --queue ring=1024 -- ./index FOLDER [THREADS]
#include <baton.hpp>
#include <baton_queues.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace fs = std::filesystem;

struct table {
    std::unordered_map<std::string, unsigned long> words;
    unsigned long files = 0, all = 0;
};

static baton::choice<fs::path> paths(BATON_MANY_TO_MANY, 64);
static baton::queue<table, 4> tables;

static std::atomic<int> status; // 1 if something could not be read

static void failed(const fs::path &path, const std::string &why) {
    std::cerr << path << ": " << why << '\n';
    status = 1;
}

static void find_files(const fs::path &folder) {
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (at->symlink_status().type() == fs::file_type::regular) paths.push(at->path());
    if (error) failed(folder, error.message());
    paths.close();
}

// Counts the words of a file: letters of ASCII, of which upper and lower case are the same.
static void count(table &own, const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return failed(path, "cannot be read");
    std::string word, text(std::istreambuf_iterator<char>(file), {});
    text += '\0';
    for (char c : text) {
        char lower = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
        if (lower >= 'a' && lower <= 'z') {
            word += lower;
        } else if (!word.empty()) {
            ++own.words[word];
            ++own.all;
            word.clear();
        }
    }
    ++own.files;
}

static void count_files() {
    table own;
    while (auto path = paths.pop()) count(own, *path);
    tables.push(std::move(own));
}

int main(int argc, char **argv) {
    int threads = argc > 2 ? std::atoi(argv[2]) : 4;
    if (argc < 2 || threads < 1 || threads > 64) {
        std::cerr << "usage: index FOLDER [THREADS]\n";
        return 2;
    }
    std::vector<std::thread> all_threads;
    all_threads.emplace_back(find_files, fs::path(argv[1]));
    for (int i = 0; i < threads; i++) all_threads.emplace_back(count_files);
    table all;
    for (int i = 0; i < threads; i++) {
        table one = *tables.pop();
        for (auto &[word, count] : one.words) all.words[word] += count;
        all.files += one.files;
        all.all += one.all;
    }
    for (auto &thread : all_threads) thread.join();
    std::cout << all.files << " files, " << all.all << " words, " << all.words.size() << " different ones\n";
    std::vector<std::pair<std::string, unsigned long>> sorted(all.words.begin(), all.words.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    for (std::size_t i = 0; i < 5 && i < sorted.size(); i++) std::cout << sorted[i].second << ' ' << sorted[i].first << '\n';
    return status;
}
